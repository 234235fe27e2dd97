// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// connectSubresources are those that the API server opens with the admission operation CONNECT.
//
// Source: pkg/registry/core, the storages with Connect.
var connectSubresources = []string{"nodes/proxy", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy",
	"services/proxy"}

// connects reports whether the request is a CONNECT for admission.
func (r *Request) connects() bool {
	return r.Group == "" && slices.Contains(connectSubresources, r.ResourceName())
}

// noteAdmission says that admission was not asked about an allowed write. fromText is true if the
// request is from a text: then -f cannot be added to the same command.
func (a *Answer) noteAdmission(r *Request, fromText bool) {
	writes := []string{"create", "update", "patch", "delete", "deletecollection"}
	next := "give the object with -f"
	if fromText {
		next = "give USER VERB RESOURCE and -f"
	}
	switch {
	case r.Path != "" || r.connects() || !slices.Contains(writes, r.Verb):
	case r.Verb == "deletecollection" || !slices.Contains(storedSubresources, r.Subresource):
		a.note(fmt.Sprintf("Authorization does not see what a request writes. Admission was not asked: bulkhead has no dry "+
			"run of verb %s on %s.", webhook.Loggable(r.Verb), webhook.Loggable(r.ResourceName())))
	default:
		a.note("Authorization does not see what a request writes. To ask admission too, " + next + ".")
	}
}

// noteConnect says that admission decides too, and what the policy for nodes/proxy needs. here is nil
// if the modes of the cluster are not known.
func (a *Answer) noteConnect(r *Request, here *rulebook.Here) {
	if !r.connects() {
		return
	}
	a.note(fmt.Sprintf("Admission was not asked. It also decides about %s, with every verb, also get: the operation is "+
		"CONNECT. The API server has no dry run of it.", r.ResourceName()))
	if r.ResourceName() != "nodes/proxy" {
		return
	}
	rule, ok := rulebook.Find(kubeletauth.RuleVAP)
	if !ok {
		return
	}
	mode := "not known"
	if here != nil {
		mode = here.Mode(rule)
	}
	a.note(fmt.Sprintf("%s also decides, by the path behind nodes/proxy. Its mode here: %s. It needs: %s. "+
		"`bulkhead rules %s` describes it.", rule.ID, mode, rulebook.Needs(rule), rule.ID))
	if mode == rules.Off.String() {
		return
	}
	a.note("Rights that " + string(rule.ID) + " accepts, by path: " + rightsByPath() + ".")
}

// rightsByPath lists the rights of the policy for nodes/proxy, each with its paths.
func rightsByPath() string {
	var rights []string
	paths := map[string][]string{}
	for _, path := range kubeletauth.ServerPaths() {
		var accepted []string
		for _, right := range path.Rights {
			accepted = append(accepted, right.Verb+" nodes/"+right.Subresource)
		}
		key, name := strings.Join(accepted, " or "), "/"+path.Prefix
		if path.Prefix == "*" {
			name = "any other path"
		}
		if paths[key] == nil {
			rights = append(rights, key)
		}
		paths[key] = append(paths[key], name)
	}
	for i, key := range rights {
		rights[i] = strings.Join(paths[key], ", ") + ": " + key
	}
	return strings.Join(rights, "; ")
}

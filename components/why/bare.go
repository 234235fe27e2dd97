// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"regexp"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// nodeInText and otherInText are the names in the texts of the in-tree Node authorizer.
var (
	nodeInText  = regexp.MustCompile(`node '([^']{1,253})'`)
	otherInText = regexp.MustCompile(`cannot read '([^']{1,253})'`)
)

// sample has one resource for each set of rules of the in-tree Node authorizer.
var sample = []struct{ group, resource string }{
	{"", "secrets"}, {"", "configmaps"}, {"", "serviceaccounts"}, {"", "persistentvolumeclaims"},
	{"", "persistentvolumes"}, {"", "pods"}, {"", "nodes"}, {"coordination.k8s.io", "leases"},
	{"storage.k8s.io", "csinodes"}, {"storage.k8s.io", "volumeattachments"}, {"resource.k8s.io", "resourceclaims"},
	{"resource.k8s.io", "resourceslices"}, {"certificates.k8s.io", "podcertificaterequests"},
}

// inTreeRules returns the rules that decide with this text, for a text without a request. The same
// text can be that of several rules.
func inTreeRules(text string) []rules.ID {
	node, other := "n", "o"
	if found := nodeInText.FindStringSubmatch(text); found != nil {
		node = found[1]
	}
	if found := otherInText.FindStringSubmatch(text); found != nil {
		other = found[1]
	}
	var ids []rules.ID
	for r := range samples(node, other) {
		if id, said := inTreeRule(&r, text); said && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// samples yields requests of a node, of all kinds.
func samples(node, other string) func(func(Request) bool) {
	verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	return func(yield func(Request) bool) {
		for _, of := range sample {
			for _, verb := range verbs {
				for _, subresource := range []string{"", "status", "token", "eviction"} {
					for _, name := range []string{"", other} {
						r := Request{User: nodeidentity.Prefix + node, Groups: []string{user.NodesGroup}, Verb: verb, Group: of.group,
							Resource: of.resource, Subresource: subresource, Name: name}
						if !yield(r) {
							return
						}
						r.Namespace = "default"
						if !yield(r) {
							return
						}
					}
				}
			}
		}
	}
}

// bare explains a text of the in-tree Node authorizer without a request. It returns false for another
// text.
func (a *Answer) bare(text string) bool {
	if len(text) > maxText {
		return false
	}
	ids := inTreeRules(text)
	if len(ids) == 0 {
		return false
	}
	a.Step, a.By = Authorization, inTreeNode+likeThisRule
	if len(ids) > 1 {
		a.note("The text is that of several rules. Give the whole message, with the user and the resource.")
	}
	a.addRules(ids)
	if relationMissing(ids, text) {
		a.Options = append(a.Options, Option{Text: "A pod that uses the object must be bound to the node, or the " +
			"object must name the node."})
		return true
	}
	a.Options = append(a.Options, optionsOf(ids[0], nil, text)...)
	return true
}

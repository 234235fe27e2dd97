// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// Request is a request to the API server, as its authorizers see it.
type Request struct {
	User   string              `json:"user"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
	Verb   string              `json:"verb"`
	// Group, Version, Resource, Subresource, Namespace and Name are empty for a Path.
	Group       string `json:"group,omitempty"`
	Version     string `json:"version,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"`
	// FieldSelector is that of a list, a watch or a deletecollection, for example spec.nodeName=worker-1.
	FieldSelector string `json:"fieldSelector,omitempty"`
	// Path is a path without a resource, for example /healthz.
	Path string `json:"path,omitempty"`
	// Relayed is true if the request is from a message that a node can have written.
	Relayed bool `json:"-"`
}

// Identity is who a user is, beyond the name.
type Identity struct {
	// Groups are further groups. Those that follow from the name are added.
	Groups []string
	// NodeName is the node of a token that is bound to a pod. It is only for a ServiceAccount.
	NodeName string
}

// As sets the user, and the groups and extra fields that the API server's authenticators give it.
func (r *Request) As(name string, who Identity) error {
	if name == "" {
		return errors.New("cannot ask about a user without a name: give USER, for example system:node:worker-1")
	}
	r.User, r.Groups, r.Extra = name, slices.Clone(who.Groups), nil
	namespace, _, notAccount := serviceaccount.SplitUsername(name)
	switch {
	case notAccount == nil:
		r.addGroups(serviceaccount.MakeGroupNames(namespace)...)
		if who.NodeName != "" {
			r.Extra = map[string][]string{serviceaccount.NodeNameKey: {who.NodeName}}
		}
	case who.NodeName != "":
		return fmt.Errorf("cannot use --node-name for user %s: only a token of a ServiceAccount names a node; use "+
			"system:serviceaccount:NAMESPACE:NAME", webhook.Loggable(name))
	case strings.HasPrefix(name, nodeidentity.Prefix):
		r.addGroups(user.NodesGroup)
	}
	if name == user.Anonymous {
		r.addGroups(user.AllUnauthenticated)
		return nil
	}
	r.addGroups(user.AllAuthenticated)
	return nil
}

func (r *Request) addGroups(groups ...string) {
	for _, group := range groups {
		if !slices.Contains(r.Groups, group) {
			r.Groups = append(r.Groups, group)
		}
	}
}

// ResourceName returns the resource with its subresource and group: pods/status, leases.coordination.k8s.io.
func (r *Request) ResourceName() string {
	name := r.Resource
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	if r.Group != "" {
		name += "." + r.Group
	}
	return name
}

// ObjectName returns the namespace and the name, or one of them.
func (r *Request) ObjectName() string { return strings.Trim(r.Namespace+"/"+r.Name, "/") }

// String returns the request on one line that is safe to print.
func (r *Request) String() string {
	parts := []string{r.User, r.Verb, r.ResourceName(), r.ObjectName(), r.Path, ""}
	if r.FieldSelector != "" {
		parts[5] = "with field selector " + r.FieldSelector
	}
	if r.Namespace != "" && r.Name == "" {
		parts[3] = "in namespace " + r.Namespace
	}
	return webhook.Printable(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " "), 1<<10)
}

// info returns the user as authorizers see it.
func (r *Request) info() user.Info {
	return &user.DefaultInfo{Name: r.User, Groups: r.Groups, Extra: r.Extra}
}

// node returns the node of a node's request.
func (r *Request) node() (string, bool) { return nodeidentity.NodeName(r.info()) }

func (r *Request) attributes() *authorizer.AttributesRecord {
	a := &authorizer.AttributesRecord{User: r.info(), Verb: r.Verb, APIGroup: r.Group, APIVersion: r.Version,
		Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
		ResourceRequest: r.Path == "", Path: r.Path}
	if selector, err := fields.ParseSelector(r.FieldSelector); err == nil {
		a.FieldSelectorRequirements = selector.Requirements()
	}
	return a
}

func (r *Request) review() *authorizationv1.SubjectAccessReview {
	spec := authorizationv1.SubjectAccessReviewSpec{User: r.User, Groups: r.Groups}
	for key, values := range r.Extra {
		if spec.Extra == nil {
			spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		spec.Extra[key] = values
	}
	if r.Path != "" {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: r.Path, Verb: r.Verb}
	} else {
		spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: r.Verb, Group: r.Group, Version: r.Version,
			Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name}
		if r.FieldSelector != "" {
			spec.ResourceAttributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{RawSelector: r.FieldSelector}
		}
	}
	return &authorizationv1.SubjectAccessReview{Spec: spec}
}

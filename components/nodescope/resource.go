// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import "strings"

// Resource is a resource, or a subresource, of one API group, in all its versions.
type Resource struct {
	Group, Resource, Subresource string
}

// String is the resource as an annotation names it: "leases.coordination.k8s.io",
// "nodes/status".
func (r Resource) String() string {
	name := r.Resource
	if r.Group != "" {
		name += "." + r.Group
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return name
}

// everySubresource stands, in a scope, for a resource and all its subresources.
const everySubresource = "*"

// withEverySubresource is the resource, or what the subresource belongs to, with all
// subresources.
func (r Resource) withEverySubresource() Resource {
	r.Subresource = everySubresource
	return r
}

// asked is the resource that a request is for. A review may have the subresource
// behind a slash, where RBAC finds it too.
func asked(a *request) Resource {
	r := Resource{Group: a.APIGroup, Resource: a.Resource, Subresource: a.Subresource}
	if r.Subresource == "" && strings.IndexByte(r.Resource, '/') >= 0 {
		r.Resource, r.Subresource, _ = strings.Cut(r.Resource, "/")
	}
	return r
}

// isSelfReview reports whether the resource is a question about the caller's own
// identity and rights. It is never held to a node: it shows nothing of anybody else.
//
// Source: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go system:basic-user.
func isSelfReview(r Resource) bool {
	switch r.Group {
	case "authorization.k8s.io":
		return r.Resource == "selfsubjectaccessreviews" || r.Resource == "selfsubjectrulesreviews"
	case "authentication.k8s.io":
		return r.Resource == "selfsubjectreviews"
	}
	return false
}

// doors lead to the same objects: who names one of a pair in a scope means both.
//
// Source: pkg/registry/core/rest/storage_core.go and pkg/registry/events/rest: events of
// both groups are one store; pkg/registry/core/pod/storage: a binding is a pod's.
var doors = [][2]Resource{
	{{Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}},
	{{Resource: "bindings"}, {Resource: "pods", Subresource: "binding"}},
}

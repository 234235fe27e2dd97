// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	sliceCreate = rules.Rule{
		ID:          "NA-SLICE-1",
		Description: "A node may create a ResourceSlice, but has no access to any subresource of slices.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeResourceSlice",
	}
	sliceOwn = rules.Rule{
		ID:          "NA-SLICE-2",
		Description: "A node may get, update, patch and delete only a ResourceSlice whose spec.nodeName is its own name.",
		Source:      "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeResourceSlice",
	}
	sliceSelected = rules.Rule{
		ID: "NA-SLICE-3",
		Description: "A node may list, watch and delete a collection of ResourceSlices only with the field " +
			"selector spec.nodeName set to its own name.",
		Source: "plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeResourceSlice",
	}
)

const (
	sliceSubresources = "cannot authorize ResourceSlice subresources"
	slicesOfAll       = "can only list/watch/deletecollection resourceslices with nodeName field selector"
	sliceVerbs        = "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, " +
		"patch, delete, deletecollection"
)

// authorizeResourceSlice cannot see the spec.nodeName of a slice that is being created. Admission
// checks it.
func (z *Authorizer) authorizeResourceSlice(ctx context.Context, node string, a *request) rules.Decision {
	if a.Subresource != "" {
		return deny(sliceCreate, sliceSubresources)
	}
	switch a.Verb {
	case "create":
		return allow(sliceCreate)
	case "get", "update", "patch", "delete":
		return z.related(ctx, sliceOwn, node, graph.ResourceSlice, a)
	case "list", "watch", "deletecollection":
		if !selectsNode(node, a) {
			return deny(sliceSelected, slicesOfAll)
		}
		return allow(sliceSelected)
	default:
		return deny(sliceCreate, sliceVerbs)
	}
}

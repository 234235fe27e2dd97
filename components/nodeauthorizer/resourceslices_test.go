// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"testing"

	"k8s.io/apimachinery/pkg/selection"
)

func TestResourceSlices(t *testing.T) { run(t, resourceSliceRows()) }

func resourceSliceRows() []row {
	const (
		sub   = "cannot authorize ResourceSlice subresources [NA-SLICE-1]"
		verbs = "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, " +
			"delete, deletecollection [NA-SLICE-1]"
		selector = "can only list/watch/deletecollection resourceslices with nodeName field selector [NA-SLICE-3]"
	)
	slice := func(verb, name string) request {
		return request{Verb: verb, APIGroup: "resource.k8s.io", Resource: "resourceslices", Name: name}
	}
	status := func(verb string) request {
		return request{Verb: verb, APIGroup: "resource.k8s.io", Resource: "resourceslices", Subresource: "status",
			Name: "my-resourceslice"}
	}
	selected := func(verb, field string, op selection.Operator, value string) request {
		return request{Verb: verb, APIGroup: "resource.k8s.io", Resource: "resourceslices",
			FieldSelectorRequirements: selecting(field, op, value)}
	}
	return []row{
		{"the creation of a slice may do so", slice("create", ""), allowed, "[NA-SLICE-1]"},
		{"the creation of a subresource is refused", status("create"), refused, sub},
		{"the status of its slice is refused", status("get"), refused, sub},
		{"an unknown verb is refused", slice("approve", "my-resourceslice"), refused, verbs},
		{"its slice may get it", slice("get", "my-resourceslice"), allowed, "[NA-SLICE-2]"},
		{"the update of its slice may do so", slice("update", "my-resourceslice"), allowed, "[NA-SLICE-2]"},
		{"the patch of its slice may do so", slice("patch", "my-resourceslice"), allowed, "[NA-SLICE-2]"},
		{"the deletion of its slice may do so", slice("delete", "my-resourceslice"), allowed, "[NA-SLICE-2]"},
		{"another's slice is refused", slice("get", "other"), refused, unrelated + "[NA-SLICE-2]"},
		{"the deletion of another's slice is refused", slice("delete", "other"), refused, unrelated + "[NA-SLICE-2]"},
		{"a slice without a name is refused", slice("get", ""), refused, "No Object name found [NA-SLICE-2]"},
		{"a list of its slices may have it", selected("list", "spec.nodeName", selection.Equals, "me"), allowed,
			"[NA-SLICE-3]"},
		{"a watch of its slices may have it", selected("watch", "spec.nodeName", selection.Equals, "me"), allowed,
			"[NA-SLICE-3]"},
		{"the deletion of its slices may do so", selected("deletecollection", "spec.nodeName", selection.Equals, "me"),
			allowed, "[NA-SLICE-3]"},
		{"a list of another's slices is refused", selected("list", "spec.nodeName", selection.Equals, "other"), refused,
			selector},
		{"the deletion of all but its slices is refused",
			selected("deletecollection", "spec.nodeName", selection.NotEquals, "me"), refused, selector},
		{"a list of a driver's slices is refused", selected("list", "spec.driver", selection.Equals, "me"), refused,
			selector},
		{"a list of all slices is refused", slice("list", ""), refused, selector},
		{"a list of its slice by name is refused", slice("list", "my-resourceslice"), refused, selector},
		{"the deletion of all slices is refused", slice("deletecollection", ""), refused, selector},
	}
}

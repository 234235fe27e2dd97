// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"
)

// inPool is a slice of the node me and the driver d.
func inPool(pool string) *resourcev1.ResourceSlice {
	slice := aSlice("me")
	slice.Spec.Driver, slice.Spec.Pool.Name = "d", pool
	return slice
}

func TestSlicePools(t *testing.T) {
	const (
		by    = "NR-SLICE-4"
		about = `resourceslices.resource.k8s.io "slice" is forbidden: node "me" is not allowed to create a ResourceSlice in the pool `
	)
	meta := metav1.ObjectMeta{Name: "slice"}
	create := func(o runtime.Object) admission.Attributes {
		return write("me", admission.Create, "resourceslices", "", o, nil)
	}
	c := aCluster()
	c.pools = map[string]string{"d shared": "other", "d network": NoNode, "d mine": "me", "d2 free": "other",
		"d me": "other"}
	run(t, restrict(c, enforce(by)), []row{
		{name: "pool of the own name: allowed", write: create(inPool("me"))},
		{name: "pool below the own name: allowed", write: create(inPool("me/gpu-0"))},
		{name: "pool of another node's name: denied", write: create(inPool("other")), by: by,
			says: about + `"other" of node "other" [NR-SLICE-4]`},
		{name: "pool below another node's name: denied", write: create(inPool("other/me")), by: by,
			says: about + `"other/me" of node "other" [NR-SLICE-4]`},
		{name: "pool that nobody uses: allowed", write: create(inPool("free"))},
		{name: "pool that the node uses: allowed", write: create(inPool("mine"))},
		{name: "pool that another node uses: denied", write: create(inPool("shared")), by: by,
			says: about + `"shared", which node "other" uses [NR-SLICE-4]`},
		{name: "pool of slices of no node: denied", write: create(inPool("network")), by: by,
			says: about + `"network", which has slices that are not of one node [NR-SLICE-4]`},
		{name: "in v1beta2: denied", by: by, says: about + `"shared", which node "other" uses [NR-SLICE-4]`,
			write: create(&resourcev1beta2.ResourceSlice{
				ObjectMeta: meta, Spec: resourcev1beta2.ResourceSliceSpec{Driver: "d", NodeName: ptr.To("me"),
					Pool: resourcev1beta2.ResourcePool{Name: "shared"}},
			})},
		{name: "in v1beta1: denied", by: by, says: about + `"shared", which node "other" uses [NR-SLICE-4]`,
			write: create(&resourcev1beta1.ResourceSlice{
				ObjectMeta: meta, Spec: resourcev1beta1.ResourceSliceSpec{Driver: "d", NodeName: "me",
					Pool: resourcev1beta1.ResourcePool{Name: "shared"}},
			})},
		{name: "update of a slice: allowed",
			write: write("me", admission.Update, "resourceslices", "", inPool("shared"), inPool("shared"))},
		{name: "deletion of a slice: allowed",
			write: write("me", admission.Delete, "resourceslices", "", nil, inPool("shared"))},
	})
	run(t, restrict(c), []row{{name: "off", write: create(inPool("shared"))}})
	failing := aCluster()
	failing.err = errors.New("timeout")
	run(t, restrict(failing, enforce(by)), []row{
		{name: "pool of the own name needs no look-up", write: create(inPool("me"))},
		{name: "unknown", write: create(inPool("free")), by: by, code: 500, says: "timeout [NR-SLICE-4]"},
	})
	failing.err, failing.poolErr = nil, errors.New("too many")
	run(t, restrict(failing, enforce(by)), []row{
		{name: "users of the pool are unknown", write: create(inPool("free")), by: by, code: 500,
			says: "too many [NR-SLICE-4]"},
	})
}

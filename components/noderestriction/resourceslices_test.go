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

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func aSlice(node string) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice"}}
	if node != "" {
		slice.Spec.NodeName = &node
	}
	return slice
}

func TestResourceSlices(t *testing.T) {
	const about = `resourceslices.resource.k8s.io "slice" is forbidden: `
	created := about + "can only create ResourceSlice with the same NodeName as the requesting node [NR-SLICE-1]"
	deleted := about + "can only delete ResourceSlice with the same NodeName as the requesting node [NR-SLICE-2]"
	beta1 := func(node string) *resourcev1beta1.ResourceSlice {
		return &resourcev1beta1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice"},
			Spec: resourcev1beta1.ResourceSliceSpec{NodeName: node}}
	}
	beta2 := func(node string) *resourcev1beta2.ResourceSlice {
		return &resourcev1beta2.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice"},
			Spec: resourcev1beta2.ResourceSliceSpec{NodeName: ptr.To(node)}}
	}
	generated := aSlice("me")
	generated.GenerateName = "sl"
	run(t, restrict(aCluster()), []row{
		{name: "create own slice: allowed",
			write: write("me", admission.Create, "resourceslices", "", aSlice("me"), nil)},
		{name: "create own slice with generateName: allowed",
			write: write("me", admission.Create, "resourceslices", "", generated, nil)},
		{name: "create own slice in v1beta1: allowed",
			write: write("me", admission.Create, "resourceslices", "", beta1("me"), nil)},
		{name: "create own slice in v1beta2: allowed",
			write: write("me", admission.Create, "resourceslices", "", beta2("me"), nil)},
		{name: "create other node's slice: denied",
			write: write("me", admission.Create, "resourceslices", "", aSlice("other"), nil),
			by:    "NR-SLICE-1", says: created},
		{name: "create other node's slice in v1beta1: denied",
			write: write("me", admission.Create, "resourceslices", "", beta1("other"), nil),
			by:    "NR-SLICE-1", says: created},
		{name: "create other node's slice in v1beta2: denied",
			write: write("me", admission.Create, "resourceslices", "", beta2("other"), nil),
			by:    "NR-SLICE-1", says: created},
		{name: "create slice for all nodes: denied",
			write: write("me", admission.Create, "resourceslices", "", aSlice(""), nil),
			by:    "NR-SLICE-1", says: created},
		{name: "create slice without an object: denied",
			write: write("me", admission.Create, "resourceslices", "", nil, nil, named("slice")),
			by:    "NR-SLICE-1", says: about + "unexpected type <nil> [NR-SLICE-1]"},
		{name: "create slice with an object of another type: denied",
			write: write("me", admission.Create, "resourceslices", "", aNode("me"), nil, named("slice")), by: "NR-SLICE-1",
			says: about + "unexpected type *v1.Node [NR-SLICE-1]"},
		{name: "delete own slice: allowed",
			write: write("me", admission.Delete, "resourceslices", "", nil, aSlice("me"))},
		{name: "delete own slice in a collection: allowed",
			write: write("me", admission.Delete, "resourceslices", "", nil, aSlice("me"), named(""))},
		{name: "delete other node's slice: denied",
			write: write("me", admission.Delete, "resourceslices", "", nil, aSlice("other")),
			by:    "NR-SLICE-2", says: deleted},
		{name: "delete other node's slice in a collection: denied",
			write: write("me", admission.Delete, "resourceslices", "", nil, aSlice("other"), named("")), by: "NR-SLICE-2",
			says: `resourceslices.resource.k8s.io "Unknown" is forbidden: ` +
				`can only delete ResourceSlice with the same NodeName as the requesting node [NR-SLICE-2]`},
		{name: "delete slice for all nodes: denied",
			write: write("me", admission.Delete, "resourceslices", "", nil, aSlice("")),
			by:    "NR-SLICE-2", says: deleted},
		{name: "delete slice without an object: denied",
			write: write("me", admission.Delete, "resourceslices", "", nil, nil, named("slice")),
			by:    "NR-SLICE-2", says: about + "unexpected type <nil> [NR-SLICE-2]"},
		{name: "delete slice with an object of another type: denied",
			write: write("me", admission.Delete, "resourceslices", "", nil, aNode("me"), named("slice")), by: "NR-SLICE-2",
			says: about + "unexpected type *v1.Node [NR-SLICE-2]"},
		{name: "update other node's slice: no rule",
			write: write("me", admission.Update, "resourceslices", "", aSlice("other"), aSlice("other"))},
	})
}

// capped sets the limits of the operator's policy.
func capped(caps configuration.Caps) func(*Config) {
	return func(c *Config) {
		c.Configuration = func() *configuration.Configuration { return &configuration.Configuration{Caps: caps} }
	}
}

func TestResourceSliceCap(t *testing.T) {
	const about = `resourceslices.resource.k8s.io "slice" is forbidden: `
	full := about + `node "me" has as many ResourceSlices as one node may have: 3 [NR-SLICE-3]`
	three := capped(configuration.Caps{ResourceSlices: 3, MirrorPods: 1})
	has := func(slices int) *fakeCluster {
		c := aCluster()
		c.counts = map[counted]int{{ResourceSlices, "me"}: slices, {ResourceSlices, "other"}: 9, {MirrorPods, "me"}: 9}
		return c
	}
	create := write("me", admission.Create, "resourceslices", "", aSlice("me"), nil)
	run(t, restrict(has(2), three, enforce("NR-SLICE-3")), []row{
		{name: "last slice within the cap: allowed", write: create},
	})
	run(t, restrict(has(3), three, enforce("NR-SLICE-3")), []row{
		{name: "one slice over the cap: denied", write: create, by: "NR-SLICE-3", says: full},
		{name: "dry run over the cap: denied",
			write: write("me", admission.Create, "resourceslices", "", aSlice("me"), nil, dry),
			by:    "NR-SLICE-3", says: full},
		{name: "update at the cap: allowed",
			write: write("me", admission.Update, "resourceslices", "", aSlice("me"), aSlice("me"))},
		{name: "delete at the cap: allowed", write: write("me", admission.Delete, "resourceslices", "", nil, aSlice("me"))},
	})
	run(t, restrict(has(4), three, enforce("NR-SLICE-3")),
		[]row{{name: "count above the cap: denied", write: create, by: "NR-SLICE-3", says: full}})
	run(t, restrict(has(3), three), []row{{name: "rule off by default: allowed", write: create}})
	run(t, restrict(has(3), enforce("NR-SLICE-3")), []row{{name: "no configuration: no cap", write: create}})
	run(t, restrict(has(3), capped(configuration.Caps{}), enforce("NR-SLICE-3")),
		[]row{{name: "cap 0: no cap", write: create}})
	broken := has(0)
	broken.err = errors.New("no answer")
	run(t, restrict(broken, three, enforce("NR-SLICE-3")), []row{{
		name: "failed count: denied", write: create, by: "NR-SLICE-3", code: 500,
		says: "no answer [NR-SLICE-3]",
	}})
	if got := restrict(has(3), three, inMode(rules.Audit, "NR-SLICE-3")).Review(t.Context(), create); !got.Allowed() ||
		len(got.Audited()) != 1 || got.Audited()[0] != "NR-SLICE-3" {
		t.Errorf("in audit: %+v, want admitted and NR-SLICE-3 audited", got)
	}
}

// inPool returns a slice of the node me and the driver d.
func inPool(pool string) *resourcev1.ResourceSlice {
	slice := aSlice("me")
	slice.Spec.Driver, slice.Spec.Pool.Name = "d", pool
	return slice
}

func TestSlicePools(t *testing.T) {
	const (
		by    = "NR-SLICE-4"
		about = `resourceslices.resource.k8s.io "slice" is forbidden: ` +
			`node "me" is not allowed to create a ResourceSlice in the pool `
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
			says: about + `"other" of others [NR-SLICE-4]`},
		{name: "pool below another node's name: denied", write: create(inPool("other/me")), by: by,
			says: about + `"other/me" of others [NR-SLICE-4]`},
		{name: "pool without slices: allowed", write: create(inPool("free"))},
		{name: "pool that the node uses: allowed", write: create(inPool("mine"))},
		{name: "pool that another node uses: denied", write: create(inPool("shared")), by: by,
			says: about + `"shared" of others [NR-SLICE-4]`},
		{name: "pool of slices of no node: denied", write: create(inPool("network")), by: by,
			says: about + `"network" of others [NR-SLICE-4]`},
		{name: "in v1beta2: denied", by: by, says: about + `"shared" of others [NR-SLICE-4]`,
			write: create(&resourcev1beta2.ResourceSlice{
				ObjectMeta: meta, Spec: resourcev1beta2.ResourceSliceSpec{Driver: "d", NodeName: ptr.To("me"),
					Pool: resourcev1beta2.ResourcePool{Name: "shared"}},
			})},
		{name: "in v1beta1: denied", by: by, says: about + `"shared" of others [NR-SLICE-4]`,
			write: create(&resourcev1beta1.ResourceSlice{
				ObjectMeta: meta, Spec: resourcev1beta1.ResourceSliceSpec{Driver: "d", NodeName: "me",
					Pool: resourcev1beta1.ResourcePool{Name: "shared"}},
			})},
		{name: "update of a slice: allowed",
			write: write("me", admission.Update, "resourceslices", "", inPool("shared"), inPool("shared"))},
		{name: "deletion of a slice: allowed",
			write: write("me", admission.Delete, "resourceslices", "", nil, inPool("shared"))},
	})
	run(t, restrict(c), []row{{name: "rule off: allowed", write: create(inPool("shared"))}})
	failing := aCluster()
	failing.err = errors.New("timeout")
	run(t, restrict(failing, enforce(by)), []row{
		{name: "pool of the own name: no lookup", write: create(inPool("me"))},
		{name: "failed lookup: denied", write: create(inPool("free")), by: by, code: 500, says: "timeout [NR-SLICE-4]"},
	})
	failing.err, failing.poolErr = nil, errors.New("too many")
	run(t, restrict(failing, enforce(by)), []row{
		{name: "users of the pool are unknown", write: create(inPool("free")), by: by, code: 500,
			says: "too many [NR-SLICE-4]"},
	})
}

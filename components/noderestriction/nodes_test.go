// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const aboutMe = `nodes "me" is forbidden: `

// nodeEdit changes a Node.
type nodeEdit = func(*corev1.Node)

func createNode(edits ...nodeEdit) admission.Attributes {
	return write("me", admission.Create, "nodes", "", aNode("me", edits...), nil)
}

// updateNode returns an update from a Node with the first edit to one with the second.
func updateNode(subresource string, before, after nodeEdit) admission.Attributes {
	return write("me", admission.Update, "nodes", subresource, aNode("me", after), aNode("me", before))
}

func unedited(*corev1.Node) {}

func TestNodeNames(t *testing.T) {
	notOther := `nodes "other" is forbidden: node "me" is not allowed to modify node "other" [NR-NODE-1]`
	generated := aNode("me-x7k2p", func(n *corev1.Node) { n.GenerateName = "me-" })
	mine, others := aNode("me"), aNode("other")
	rows := []row{
		{name: "create own Node: allowed", write: createNode()},
		{name: "create other Node: denied", write: write("me", admission.Create, "nodes", "", others, nil), by: "NR-NODE-1",
			says: notOther},
		{name: "create Node with generateName: denied",
			write: write("me", admission.Create, "nodes", "", generated, nil), by: "NR-NODE-1",
			says: `nodes "me-x7k2p" is forbidden: node "me" is not allowed to modify node "" [NR-NODE-1]`},
		{name: "create other Node under the own request name: denied",
			write: write("me", admission.Create, "nodes", "", others, nil, named("me")),
			by:    "NR-NODE-1",
			says:  aboutMe + `node "me" is not allowed to modify node "other" [NR-NODE-1]`},
		{name: "create Node without an object: denied",
			write: write("me", admission.Create, "nodes", "", nil, nil, named("me")), by: "NR-NODE-1",
			says: aboutMe + "unexpected type <nil> [NR-NODE-1]"},
		{name: "create Node with an object of another type: denied",
			write: write("me", admission.Create, "nodes", "", &corev1.Pod{}, nil, named("me")),
			by:    "NR-NODE-1", says: aboutMe + "unexpected type *v1.Pod [NR-NODE-1]"},
		{name: "delete own Node: allowed",
			write: write("me", admission.Delete, "nodes", "", nil, mine)},
		{name: "delete other Node: denied", write: write("me", admission.Delete, "nodes", "", nil, others), by: "NR-NODE-1",
			says: notOther},
		{name: "delete other Node under the own request name: denied",
			write: write("me", admission.Delete, "nodes", "", nil, others, named("me")),
			by:    "NR-NODE-1",
			says:  aboutMe + `node "me" is not allowed to modify node "other" [NR-NODE-1]`},
		{name: "delete a collection of Nodes: denied",
			write: write("me", admission.Delete, "nodes", "", nil, mine, named("")), by: "NR-NODE-1",
			says: `nodes "Unknown" is forbidden: node "me" is not allowed to modify node "" [NR-NODE-1]`},
		{name: "update Node without an old object: denied",
			write: write("me", admission.Update, "nodes", "", mine, nil), by: "NR-NODE-1",
			says: aboutMe + "unexpected type <nil> [NR-NODE-1]"},
		{name: "update Node without a new object: denied",
			write: write("me", admission.Update, "nodes", "", nil, mine), by: "NR-NODE-1",
			says: aboutMe + "unexpected type <nil> [NR-NODE-1]"},
		{name: "update Node with an old object of another type: denied",
			write: write("me", admission.Update, "nodes", "", mine, &corev1.Pod{}),
			by:    "NR-NODE-1", says: aboutMe + "unexpected type *v1.Pod [NR-NODE-1]"},
		{name: "connect to own Node's proxy: no rule",
			write: write("me", admission.Connect, "nodes", "proxy", &corev1.NodeProxyOptions{}, nil, named("me"))},
		{name: "connect to other Node's proxy: denied",
			write: write("me", admission.Connect, "nodes", "proxy", &corev1.NodeProxyOptions{}, nil, named("other")),
			by:    "NR-NODE-1", says: notOther},
	}
	for _, subresource := range []string{"", "status", "scale", "anything"} {
		rows = append(rows,
			row{name: "a node updates itself /" + subresource,
				write: write("me", admission.Update, "nodes", subresource, mine, mine)},
			row{name: "and no other /" + subresource, write: write("me", admission.Update, "nodes", subresource, others, others),
				by: "NR-NODE-1", says: notOther},
		)
	}
	run(t, restrict(aCluster()), rows)
}

func TestNodeConfigSource(t *testing.T) {
	source := func(name string) nodeEdit {
		return func(n *corev1.Node) {
			n.Spec.ConfigSource = &corev1.NodeConfigSource{ //nolint:staticcheck // what is deprecated is refused
				ConfigMap: &corev1.ConfigMapNodeConfigSource{Namespace: "kube-system", Name: name},
			}
		}
	}
	update := aboutMe + `node "me" is not allowed to update configSource to a new non-nil configSource [NR-NODE-2]`
	run(t, restrict(aCluster()), []row{
		{name: "configSource on create: denied", write: createNode(source("a")), by: "NR-NODE-2",
			says: aboutMe + `node "me" is not allowed to create pods with a non-nil configSource [NR-NODE-2]`},
		{name: "first configSource on update: denied",
			write: updateNode("", unedited, source("a")), by: "NR-NODE-2", says: update},
		{name: "other configSource on update: denied",
			write: updateNode("", source("a"), source("b")), by: "NR-NODE-2", says: update},
		{name: "configSource through the status: denied",
			write: updateNode("status", unedited, source("a")), by: "NR-NODE-2", says: update},
		{name: "same configSource: allowed", write: updateNode("", source("a"), source("a"))},
		{name: "configSource removed: allowed", write: updateNode("", source("a"), unedited)},
	})
}

func TestNodeTaints(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	later := metav1.NewTime(now.Add(time.Second))
	taint := func(edits ...func(*corev1.Taint)) nodeEdit {
		return func(n *corev1.Node) {
			taint := corev1.Taint{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &now}
			for _, edit := range edits {
				edit(&taint)
			}
			n.Spec.Taints = []corev1.Taint{taint}
		}
	}
	two := func(n *corev1.Node) { taint()(n); n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "x"}) }
	empty := func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{} }
	says := aboutMe + `node "me" is not allowed to modify taints [NR-NODE-4]`
	run(t, restrict(aCluster()), []row{
		{name: "create Node with a taint: allowed", write: createNode(taint())},
		{name: "create Node with a taint and the API server's taint: allowed", write: createNode(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
		})},
		{name: "same taint: allowed", write: updateNode("", taint(), taint())},
		{name: "no taint list replaces an empty list: allowed", write: updateNode("", empty, unedited)},
		{name: "remove a taint: denied", write: updateNode("", taint(), unedited), by: "NR-NODE-4", says: says},
		{name: "remove a taint through the status: denied",
			write: updateNode("status", taint(), unedited), by: "NR-NODE-4", says: says},
		{name: "add a taint: denied", write: updateNode("", unedited, taint()), by: "NR-NODE-4", says: says},
		{name: "add a second taint: denied", write: updateNode("", taint(), two), by: "NR-NODE-4", says: says},
		{name: "change the taint's key: denied", write: updateNode("", taint(), taint(func(t *corev1.Taint) { t.Key = "x" })),
			by: "NR-NODE-4", says: says},
		{name: "change the taint's value: denied",
			write: updateNode("", taint(), taint(func(t *corev1.Taint) { t.Value = "x" })),
			by:    "NR-NODE-4", says: says},
		{name: "change the taint's effect: denied",
			write: updateNode("", taint(), taint(func(t *corev1.Taint) { t.Effect = "x" })),
			by:    "NR-NODE-4", says: says},
		{name: "change the taint's time: denied",
			write: updateNode("", taint(), taint(func(t *corev1.Taint) { t.TimeAdded = &later })),
			by:    "NR-NODE-4", says: says},
		{name: "remove the taint's time: denied",
			write: updateNode("", taint(), taint(func(t *corev1.Taint) { t.TimeAdded = nil })),
			by:    "NR-NODE-4", says: says},
		{name: "same time in another time zone: allowed", write: updateNode("", taint(), taint(func(t *corev1.Taint) {
			t.TimeAdded = ptr.To(metav1.NewTime(now.In(time.FixedZone("", 3600))))
		}))},
	})
}

func TestNodeOwners(t *testing.T) {
	owner := func(edits ...func(*metav1.OwnerReference)) nodeEdit {
		return func(n *corev1.Node) {
			owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "uid",
				Controller: ptr.To(false)}
			for _, edit := range edits {
				edit(&owner)
			}
			n.OwnerReferences = []metav1.OwnerReference{owner}
		}
	}
	says := aboutMe + `node "me" is not allowed to modify ownerReferences [NR-NODE-5]`
	rows := []row{
		{name: "same owner: allowed", write: updateNode("", owner(), owner())},
		{name: "new owner: denied", write: updateNode("", unedited, owner()), by: "NR-NODE-5", says: says},
		{name: "new owner through the status: denied",
			write: updateNode("status", unedited, owner()), by: "NR-NODE-5", says: says},
		{name: "remove an owner: denied", write: updateNode("", owner(), unedited), by: "NR-NODE-5", says: says},
	}
	for field, edit := range map[string]func(*metav1.OwnerReference){
		"version": func(o *metav1.OwnerReference) { o.APIVersion = "v2" },
		"kind":    func(o *metav1.OwnerReference) { o.Kind = "Secret" },
		"name":    func(o *metav1.OwnerReference) { o.Name = "x" },
		"UID":     func(o *metav1.OwnerReference) { o.UID = "x" },
		"part as controller, which is not the same as none": func(o *metav1.OwnerReference) { o.Controller = nil },
		"hold": func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = ptr.To(true) },
	} {
		rows = append(rows, row{name: "an owner does not change its " + field, write: updateNode("", owner(), owner(edit)),
			by: "NR-NODE-5", says: says})
	}
	run(t, restrict(aCluster()), rows)
}

func TestNodeDelete(t *testing.T) {
	itself := write("me", admission.Delete, "nodes", "", nil, aNode("me"))
	run(t, restrict(aCluster(), enforce("NR-NODE-6")), []row{
		{name: "delete own Node: denied", write: itself, by: "NR-NODE-6",
			says: aboutMe + `node "me" is not allowed to delete itself [NR-NODE-6]`},
		{name: "delete own Node as a dry run: denied",
			write: write("me", admission.Delete, "nodes", "", nil, aNode("me"), dry), by: "NR-NODE-6",
			says: aboutMe + `node "me" is not allowed to delete itself [NR-NODE-6]`},
		{name: "delete own Node in a collection: denied",
			write: write("me", admission.Delete, "nodes", "", nil, aNode("me"), named("")),
			by:    "NR-NODE-1",
			says:  `nodes "Unknown" is forbidden: node "me" is not allowed to modify node "" [NR-NODE-1]`},
		{name: "update own Node: allowed", write: updateNode("", unedited, unedited)},
	})
	if got := restrict(aCluster(), inMode(rules.Audit, "NR-NODE-6")).Review(t.Context(), itself); !got.Allowed() ||
		len(got.Audited()) != 1 || got.Audited()[0] != "NR-NODE-6" {
		t.Errorf("in audit: %+v, want admitted and NR-NODE-6 audited", got)
	}
}

func TestNodeLifetime(t *testing.T) {
	owned := func(n *corev1.Node) {
		n.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "uid"}}
	}
	finalizers := func(names ...string) nodeEdit { return func(n *corev1.Node) { n.Finalizers = names } }
	modify := aboutMe + `node "me" is not allowed to modify finalizers [NR-NODE-7]`
	run(t, restrict(aCluster()), []row{
		{name: "rule off, owner on create: allowed", write: createNode(owned)},
		{name: "rule off, finalizer on create: allowed", write: createNode(finalizers("example.com/a"))},
		{name: "rule off, finalizer on update: allowed", write: updateNode("", unedited, finalizers("example.com/a"))},
	})
	run(t, restrict(aCluster(), enforce("NR-NODE-7")), []row{
		{name: "create Node without owner and finalizer: allowed", write: createNode()},
		{name: "create Node with an owner: denied", write: createNode(owned), by: "NR-NODE-7",
			says: aboutMe + `node "me" is not allowed to set ownerReferences [NR-NODE-7]`},
		{name: "create Node with a finalizer: denied", write: createNode(finalizers("example.com/a")), by: "NR-NODE-7",
			says: aboutMe + `node "me" is not allowed to set finalizers [NR-NODE-7]`},
		{name: "same finalizer: allowed", write: updateNode("", finalizers("example.com/a"), finalizers("example.com/a"))},
		{name: "add a finalizer: denied",
			write: updateNode("", unedited, finalizers("example.com/a")), by: "NR-NODE-7", says: modify},
		{name: "remove a finalizer: denied",
			write: updateNode("", finalizers("example.com/a"), unedited), by: "NR-NODE-7", says: modify},
		{name: "change a finalizer: denied", write: updateNode("", finalizers("example.com/a"), finalizers("example.com/b")),
			by: "NR-NODE-7", says: modify},
		{name: "add a finalizer through the status: denied",
			write: updateNode("status", unedited, finalizers("example.com/a")),
			by:    "NR-NODE-7", says: modify},
		{name: "same owner that another user set: allowed", write: updateNode("", owned, owned)},
	})
}

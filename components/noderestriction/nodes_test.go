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
		{name: "a node registers itself", write: createNode()},
		{name: "and no other", write: write("me", admission.Create, "nodes", "", others, nil), by: "NR-NODE-1",
			says: notOther},
		{name: "nor under a made-up name", write: write("me", admission.Create, "nodes", "", generated, nil), by: "NR-NODE-1",
			says: `nodes "me-x7k2p" is forbidden: node "me" is not allowed to modify node "" [NR-NODE-1]`},
		{name: "nor another in its own name", write: write("me", admission.Create, "nodes", "", others, nil, named("me")),
			by:   "NR-NODE-1",
			says: aboutMe + `node "me" is not allowed to modify node "other" [NR-NODE-1]`},
		{name: "nor nothing", write: write("me", admission.Create, "nodes", "", nil, nil, named("me")), by: "NR-NODE-1",
			says: aboutMe + "unexpected type <nil> [NR-NODE-1]"},
		{name: "nor what is no Node", write: write("me", admission.Create, "nodes", "", &corev1.Pod{}, nil, named("me")),
			by: "NR-NODE-1", says: aboutMe + "unexpected type *v1.Pod [NR-NODE-1]"},
		{name: "a node deletes itself where the authorizer lets it",
			write: write("me", admission.Delete, "nodes", "", nil, mine)},
		{name: "and no other", write: write("me", admission.Delete, "nodes", "", nil, others), by: "NR-NODE-1",
			says: notOther},
		{name: "nor another in its own name", write: write("me", admission.Delete, "nodes", "", nil, others, named("me")),
			by:   "NR-NODE-1",
			says: aboutMe + `node "me" is not allowed to modify node "other" [NR-NODE-1]`},
		{name: "nor itself as one of many, which has no name",
			write: write("me", admission.Delete, "nodes", "", nil, mine, named("")), by: "NR-NODE-1",
			says: `nodes "Unknown" is forbidden: node "me" is not allowed to modify node "" [NR-NODE-1]`},
		{name: "no update from nothing", write: write("me", admission.Update, "nodes", "", mine, nil), by: "NR-NODE-1",
			says: aboutMe + "unexpected type <nil> [NR-NODE-1]"},
		{name: "no update to nothing", write: write("me", admission.Update, "nodes", "", nil, mine), by: "NR-NODE-1",
			says: aboutMe + "unexpected type <nil> [NR-NODE-1]"},
		{name: "no update from what is no Node", write: write("me", admission.Update, "nodes", "", mine, &corev1.Pod{}),
			by: "NR-NODE-1", says: aboutMe + "unexpected type *v1.Pod [NR-NODE-1]"},
		{name: "its proxy is the authorizer's",
			write: write("me", admission.Connect, "nodes", "proxy", &corev1.NodeProxyOptions{}, nil, named("me"))},
		{name: "no other's proxy",
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
		{name: "not on create", write: createNode(source("a")), by: "NR-NODE-2",
			says: aboutMe + `node "me" is not allowed to create pods with a non-nil configSource [NR-NODE-2]`},
		{name: "not new on update", write: updateNode("", unedited, source("a")), by: "NR-NODE-2", says: update},
		{name: "not another on update", write: updateNode("", source("a"), source("b")), by: "NR-NODE-2", says: update},
		{name: "not by way of the status", write: updateNode("status", unedited, source("a")), by: "NR-NODE-2", says: update},
		{name: "the one that was may stay", write: updateNode("", source("a"), source("a"))},
		{name: "and may go", write: updateNode("", source("a"), unedited)},
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
		{name: "a node registers with a taint", write: createNode(taint())},
		{name: "also with the API server's", write: createNode(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
		})},
		{name: "leaves it as it is", write: updateNode("", taint(), taint())},
		{name: "no list is an empty one", write: updateNode("", empty, unedited)},
		{name: "and does not remove it", write: updateNode("", taint(), unedited), by: "NR-NODE-4", says: says},
		{name: "nor by way of the status", write: updateNode("status", taint(), unedited), by: "NR-NODE-4", says: says},
		{name: "nor adds one", write: updateNode("", unedited, taint()), by: "NR-NODE-4", says: says},
		{name: "nor adds a second", write: updateNode("", taint(), two), by: "NR-NODE-4", says: says},
		{name: "nor changes the key", write: updateNode("", taint(), taint(func(t *corev1.Taint) { t.Key = "x" })),
			by: "NR-NODE-4", says: says},
		{name: "nor the value", write: updateNode("", taint(), taint(func(t *corev1.Taint) { t.Value = "x" })),
			by: "NR-NODE-4", says: says},
		{name: "nor the effect", write: updateNode("", taint(), taint(func(t *corev1.Taint) { t.Effect = "x" })),
			by: "NR-NODE-4", says: says},
		{name: "nor the time", write: updateNode("", taint(), taint(func(t *corev1.Taint) { t.TimeAdded = &later })),
			by: "NR-NODE-4", says: says},
		{name: "nor takes the time away", write: updateNode("", taint(), taint(func(t *corev1.Taint) { t.TimeAdded = nil })),
			by: "NR-NODE-4", says: says},
		{name: "the same moment elsewhere on earth is no change", write: updateNode("", taint(), taint(func(t *corev1.Taint) {
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
		{name: "an owner stays", write: updateNode("", owner(), owner())},
		{name: "a new owner is refused", write: updateNode("", unedited, owner()), by: "NR-NODE-5", says: says},
		{name: "also by way of the status", write: updateNode("status", unedited, owner()), by: "NR-NODE-5", says: says},
		{name: "an owner does not go", write: updateNode("", owner(), unedited), by: "NR-NODE-5", says: says},
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
		{name: "a node does not delete itself", write: itself, by: "NR-NODE-6",
			says: aboutMe + `node "me" is not allowed to delete itself [NR-NODE-6]`},
		{name: "nor as a dry run", write: write("me", admission.Delete, "nodes", "", nil, aNode("me"), dry), by: "NR-NODE-6",
			says: aboutMe + `node "me" is not allowed to delete itself [NR-NODE-6]`},
		{name: "nor as one of many", write: write("me", admission.Delete, "nodes", "", nil, aNode("me"), named("")),
			by:   "NR-NODE-1",
			says: `nodes "Unknown" is forbidden: node "me" is not allowed to modify node "" [NR-NODE-1]`},
		{name: "an update passes", write: updateNode("", unedited, unedited)},
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
		{name: "upstream leaves owners free on create", write: createNode(owned)},
		{name: "and finalizers on create", write: createNode(finalizers("example.com/a"))},
		{name: "and finalizers on update", write: updateNode("", unedited, finalizers("example.com/a"))},
	})
	run(t, restrict(aCluster(), enforce("NR-NODE-7")), []row{
		{name: "a node registers without either", write: createNode()},
		{name: "not with an owner", write: createNode(owned), by: "NR-NODE-7",
			says: aboutMe + `node "me" is not allowed to set ownerReferences [NR-NODE-7]`},
		{name: "not with a finalizer", write: createNode(finalizers("example.com/a")), by: "NR-NODE-7",
			says: aboutMe + `node "me" is not allowed to set finalizers [NR-NODE-7]`},
		{name: "a finalizer stays", write: updateNode("", finalizers("example.com/a"), finalizers("example.com/a"))},
		{name: "none comes", write: updateNode("", unedited, finalizers("example.com/a")), by: "NR-NODE-7", says: modify},
		{name: "none goes", write: updateNode("", finalizers("example.com/a"), unedited), by: "NR-NODE-7", says: modify},
		{name: "none changes", write: updateNode("", finalizers("example.com/a"), finalizers("example.com/b")),
			by: "NR-NODE-7", says: modify},
		{name: "nor by way of the status", write: updateNode("status", unedited, finalizers("example.com/a")),
			by: "NR-NODE-7", says: modify},
		{name: "owners that somebody else set stay", write: updateNode("", owned, owned)},
	})
}

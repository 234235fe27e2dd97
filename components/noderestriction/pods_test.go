// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

const aboutStatic = `pods "static-me" is forbidden: `

type podEdit = func(*corev1.Pod)

// createMirror returns the creation of a mirror pod of the node me, with the edits.
func createMirror(edits ...podEdit) admission.Attributes {
	return write("me", admission.Create, "pods", "", aMirrorPod("me", edits...), nil)
}

// owned edits the owner of a mirror pod.
func owned(edit func(*metav1.OwnerReference)) podEdit {
	return func(p *corev1.Pod) { edit(&p.OwnerReferences[0]) }
}

func TestPodCreate(t *testing.T) {
	itself := aboutStatic + `node "me" can only create pods with an owner reference set to itself [NR-POD-2]`
	controller := aboutStatic + `node "me" can only create pods with a controller owner reference set to itself [NR-POD-2]`
	run(t, restrict(aCluster()), []row{
		{name: "create mirror pod: allowed", write: createMirror()},
		{name: "owner with blockOwnerDeletion false: allowed",
			write: createMirror(owned(func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = ptr.To(false) }))},
		{name: "topology labels of the API server: allowed", write: createMirror(func(p *corev1.Pod) {
			p.Labels = map[string]string{corev1.LabelTopologyZone: "a", corev1.LabelTopologyRegion: "b"}
		})},
		{name: "empty mirror annotation: allowed",
			write: createMirror(func(p *corev1.Pod) { p.Annotations[corev1.MirrorPodAnnotationKey] = "" })},
		{name: "no mirror annotation: denied",
			write: createMirror(func(p *corev1.Pod) { delete(p.Annotations, corev1.MirrorPodAnnotationKey) }), by: "NR-POD-1",
			says: aboutStatic + `pod does not have "kubernetes.io/config.mirror" annotation, ` +
				`node "me" can only create mirror pods [NR-POD-1]`},
		{name: "bound to another node: denied",
			write: createMirror(func(p *corev1.Pod) { p.Spec.NodeName = "other" }), by: "NR-POD-2",
			says: aboutStatic + `node "me" can only create pods with spec.nodeName set to itself [NR-POD-2]`},
		{name: "unbound: denied", write: createMirror(func(p *corev1.Pod) { p.Spec.NodeName = "" }),
			by:   "NR-POD-2",
			says: aboutStatic + `node "me" can only create pods with spec.nodeName set to itself [NR-POD-2]`},
		{name: "two owners: denied",
			write: createMirror(func(p *corev1.Pod) { p.OwnerReferences = append(p.OwnerReferences, p.OwnerReferences[0]) }),
			by:    "NR-POD-2",
			says:  aboutStatic + `node "me" can only create pods with a single owner reference set to itself [NR-POD-2]`},
		{name: "10,000 owners: denied",
			write: createMirror(func(p *corev1.Pod) { p.OwnerReferences = make([]metav1.OwnerReference, 10_000) }),
			by:    "NR-POD-2",
			says:  aboutStatic + `node "me" can only create pods with a single owner reference set to itself [NR-POD-2]`},
		{name: "no owner: denied", write: createMirror(func(p *corev1.Pod) { p.OwnerReferences = nil }), by: "NR-POD-2",
			says: itself},
		{name: "owner of another version: denied",
			write: createMirror(owned(func(o *metav1.OwnerReference) { o.APIVersion = "v2" })), by: "NR-POD-2", says: itself},
		{name: "owner of another kind: denied",
			write: createMirror(owned(func(o *metav1.OwnerReference) { o.Kind = "ReplicaSet" })), by: "NR-POD-2", says: itself},
		{name: "other node as owner: denied", write: createMirror(owned(func(o *metav1.OwnerReference) { o.Name = "other" })),
			by: "NR-POD-2", says: itself},
		{name: "owner without controller: denied",
			write: createMirror(owned(func(o *metav1.OwnerReference) { o.Controller = nil })), by: "NR-POD-2", says: controller},
		{name: "owner with controller false: denied",
			write: createMirror(owned(func(o *metav1.OwnerReference) { o.Controller = ptr.To(false) })),
			by:    "NR-POD-2", says: controller},
		{name: "owner with blockOwnerDeletion: denied",
			write: createMirror(owned(func(o *metav1.OwnerReference) { o.BlockOwnerDeletion = ptr.To(true) })), by: "NR-POD-2",
			says: aboutStatic + `node "me" must not set blockOwnerDeletion on an owner reference [NR-POD-2]`},
		{name: "UID of an earlier Node: denied",
			write: createMirror(owned(func(o *metav1.OwnerReference) { o.UID = "was" })), by: "NR-POD-2",
			says: aboutStatic + `node me UID mismatch: expected was got me-uid [NR-POD-2]`},
		{name: "object of another type: denied",
			write: write("me", admission.Create, "pods", "", aNode("me"), nil), by: "NR-POD-1",
			says: `pods "me" is forbidden: unexpected type *v1.Node [NR-POD-1]`},
		{name: "no object: denied", write: write("me", admission.Create, "pods", "", nil, nil, in("default")), by: "NR-POD-1",
			says: `pods "Unknown" is forbidden: unexpected type <nil> [NR-POD-1]`},
	})
}

func TestPodCreateNeedsTheNode(t *testing.T) {
	gone, broken := aCluster(), aCluster()
	delete(gone.nodes, "me")
	broken.err = errors.New("no answer")
	run(t, restrict(gone), []row{{
		name: "Node not found: 404", write: createMirror(), by: "NR-POD-2", code: 404,
		says: `nodes "me" not found [NR-POD-2]`,
	}})
	run(t, restrict(broken), []row{{
		name: "failed lookup of the Node: 403", write: createMirror(), by: "NR-POD-2",
		says: aboutStatic + `error looking up node me to verify uid: no answer [NR-POD-2]`,
	}})
}

func TestPodDelete(t *testing.T) {
	bound := `node "me" can only delete pods with spec.nodeName set to itself [NR-POD-4]`
	mine, theirs, pending := aPod("default", "mine", "me"), aPod("default", "theirs", "other"),
		aPod("default", "pending", "")
	run(t, restrict(&fakeCluster{}), []row{
		{name: "delete own pod: allowed", write: write("me", admission.Delete, "pods", "", nil, mine)},
		{name: "delete own pod in a collection: allowed",
			write: write("me", admission.Delete, "pods", "", nil, mine, named(""))},
		{name: "delete own mirror pod: allowed", write: write("me", admission.Delete, "pods", "", nil, aMirrorPod("me"))},
		{name: "delete other node's pod: denied",
			write: write("me", admission.Delete, "pods", "", nil, theirs), by: "NR-POD-4",
			says: `pods "theirs" is forbidden: ` + bound},
		{name: "delete other node's pod in a collection: denied",
			write: write("me", admission.Delete, "pods", "", nil, theirs, named("")), by: "NR-POD-4",
			says: `pods "Unknown" is forbidden: ` + bound},
		{name: "delete an unbound pod: denied",
			write: write("me", admission.Delete, "pods", "", nil, pending), by: "NR-POD-4",
			says: `pods "pending" is forbidden: ` + bound},
		{name: "delete a pod without an old object: denied",
			write: write("me", admission.Delete, "pods", "", nil, nil, named("mine")),
			by:    "NR-POD-4", says: `pods "mine" is forbidden: unexpected type <nil> [NR-POD-4]`},
		{name: "delete a pod with an object of another type: denied",
			write: write("me", admission.Delete, "pods", "", nil, aNode("me"), named("mine")),
			by:    "NR-POD-4", says: `pods "mine" is forbidden: unexpected type *v1.Node [NR-POD-4]`},
		{name: "delete a pod with only a new object: denied",
			write: write("me", admission.Delete, "pods", "", mine, nil), by: "NR-POD-4",
			says: `pods "mine" is forbidden: unexpected type <nil> [NR-POD-4]`},
	})
}

func TestPodUpdate(t *testing.T) {
	says := func(op string) string {
		return `pods "mine" is forbidden: unexpected operation "` + op +
			`", node "me" can only create and delete mirror pods [NR-POD-5]`
	}
	mine, static := aPod("default", "mine", "me"), aMirrorPod("me")
	run(t, restrict(aCluster()), []row{
		{name: "update own pod: denied", write: write("me", admission.Update, "pods", "", mine, mine), by: "NR-POD-5",
			says: says("UPDATE")},
		{name: "update own mirror pod: denied",
			write: write("me", admission.Update, "pods", "", static, static), by: "NR-POD-5",
			says: aboutStatic + `unexpected operation "UPDATE", node "me" can only create and delete mirror pods [NR-POD-5]`},
		{name: "connect to own pod: denied", write: write("me", admission.Connect, "pods", "", mine, nil), by: "NR-POD-5",
			says: says("CONNECT")},
		{name: "update own pod's status: allowed", write: write("me", admission.Update, "pods", "status", mine, mine)},
	})
}

func TestPodSubresources(t *testing.T) {
	mine := aPod("default", "mine", "me")
	var rows []row
	for _, subresource := range []string{"binding", "ephemeralcontainers", "resize", "exec", "attach", "portforward",
		"proxy", "log", "STATUS", "status/x"} {
		for _, op := range []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect} {
			rows = append(rows, row{
				name: string(op) + " of " + subresource, write: write("me", op, "pods", subresource, mine, mine), by: "NR-POD-9",
				says: `pods "mine" is forbidden: unexpected pod subresource "` + subresource +
					`", only 'status' and 'eviction' are allowed [NR-POD-9]`,
			})
		}
	}
	rows = append(rows, row{name: "the status", write: write("me", admission.Update, "pods", "status", mine, mine)})
	run(t, restrict(aCluster()), rows)
}

func TestMirrorPodCap(t *testing.T) {
	full := aboutStatic + `node "me" has as many mirror pods as one node may have: 3 [NR-POD-10]`
	three := capped(configuration.Caps{MirrorPods: 3, ResourceSlices: 1})
	has := func(pods int) *fakeCluster {
		c := aCluster()
		c.counts = map[counted]int{{MirrorPods, "me"}: pods, {MirrorPods, "other"}: 9, {ResourceSlices, "me"}: 9}
		return c
	}
	run(t, restrict(has(2), three, enforce("NR-POD-10")), []row{
		{name: "last mirror pod within the cap: allowed", write: createMirror()},
	})
	run(t, restrict(has(3), three, enforce("NR-POD-10")), []row{
		{name: "one mirror pod over the cap: denied", write: createMirror(), by: "NR-POD-10", says: full},
		{name: "dry run over the cap: denied", write: write("me", admission.Create, "pods", "", aMirrorPod("me"), nil, dry),
			by: "NR-POD-10", says: full},
		{name: "pod that is not a mirror pod: denied by NR-POD-1",
			write: createMirror(func(p *corev1.Pod) { p.Annotations = nil }),
			by:    "NR-POD-1",
			says: aboutStatic + `pod does not have "kubernetes.io/config.mirror" annotation, ` +
				`node "me" can only create mirror pods [NR-POD-1]`},
		{name: "status at the cap: allowed",
			write: write("me", admission.Update, "pods", "status", aMirrorPod("me"), aMirrorPod("me"))},
		{name: "delete at the cap: allowed", write: write("me", admission.Delete, "pods", "", nil, aMirrorPod("me"))},
	})
	run(t, restrict(has(3), three), []row{{name: "rule off by default: allowed", write: createMirror()}})
	run(t, restrict(has(3), enforce("NR-POD-10")), []row{{name: "no configuration: no cap", write: createMirror()}})
}

func evict(namespace, name string, edits ...func(*attributes)) admission.Attributes {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return write("me", admission.Create, "pods", "eviction", eviction, nil, edits...)
}

func TestPodEviction(t *testing.T) {
	bound := `pods "theirs" is forbidden: node me can only evict pods with spec.nodeName set to itself [NR-POD-8]`
	mine := aPod("default", "mine", "me")
	c := aCluster()
	c.pods["kube-system/mine"] = aPod("kube-system", "mine", "other")
	c.pods["default/pending"] = aPod("default", "pending", "")
	run(t, restrict(c), []row{
		{name: "evict own pod: allowed", write: evict("default", "mine")},
		{name: "evict other node's pod: denied", write: evict("default", "theirs"), by: "NR-POD-8", says: bound},
		{name: "evict a pod of the same name in another namespace: denied",
			write: evict("kube-system", "mine"), by: "NR-POD-8",
			says: `pods "mine" is forbidden: node me can only evict pods with spec.nodeName set to itself [NR-POD-8]`},
		{name: "evict an unbound pod: denied", write: evict("default", "pending"), by: "NR-POD-8",
			says: `pods "pending" is forbidden: node me can only evict pods with spec.nodeName set to itself [NR-POD-8]`},
		{name: "own pod in the body, other node's pod in the URL: denied",
			write: evict("default", "mine", named("theirs")), by: "NR-POD-8",
			says: bound},
		{name: "other node's pod in the body, own pod in the URL: allowed", write: evict("default", "theirs", named("mine"))},
		{name: "no name in the URL, other node's pod in the body: denied",
			write: evict("default", "theirs", named("")), by: "NR-POD-8",
			says: bound},
		{name: "no name in the URL, own pod in the body: allowed", write: evict("default", "mine", named(""))},
		{name: "no name in URL and body: denied", write: evict("default", ""), by: "NR-POD-8",
			says: `pods "Unknown" is forbidden: could not determine pod from request data [NR-POD-8]`},
		{name: "pod not found: 404", write: evict("default", "gone"), by: "NR-POD-8", code: 404,
			says: `pods "gone" not found [NR-POD-8]`},
		{name: "update an eviction: denied",
			write: write("me", admission.Update, "pods", "eviction", mine, mine), by: "NR-POD-8",
			says: `pods "mine" is forbidden: unexpected operation UPDATE [NR-POD-8]`},
		{name: "evict with an object of another type: denied",
			write: write("me", admission.Create, "pods", "eviction", mine, nil), by: "NR-POD-8",
			says: `pods "mine" is forbidden: unexpected type *v1.Pod [NR-POD-8]`},
		{name: "evict without an object: denied",
			write: write("me", admission.Create, "pods", "eviction", nil, nil, in("default"),
				named("mine")), by: "NR-POD-8", says: `pods "mine" is forbidden: unexpected type <nil> [NR-POD-8]`},
	})
	c.err = errors.New("no answer")
	run(t, restrict(c), []row{
		{name: "failed lookup of the pod: 403", write: evict("default", "mine"), by: "NR-POD-8",
			says: `pods "mine" is forbidden: no answer [NR-POD-8]`},
	})
}

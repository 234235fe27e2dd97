// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

func TestPodWritesFollowItsNode(t *testing.T) { run(t, nodeRows()) }
func TestExemptions(t *testing.T)             { run(t, exemptionRows()) }
func TestWholePods(t *testing.T)              { run(t, podRows()) }

func tainted(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "termination", Effect: corev1.TaintEffectNoSchedule}}
}
func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }
func annotated(n *corev1.Node) {
	n.Annotations = map[string]string{"cni.example.com/address": "10.0.0.1"}
}
func owned(n *corev1.Node) {
	n.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "gone"}}
}

func updateNode(name string, before, after func(*corev1.Node)) admission.Attributes {
	return write(admission.Update, "nodes", aNode(name, after), aNode(name, before))
}

func asBefore(*corev1.Node) {}

func lease(name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: name}}
}

func token(pod string) admission.Attributes {
	request := &authenticationv1.TokenRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent"},
		Spec: authenticationv1.TokenRequestSpec{
			Audiences:      []string{""},
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod, UID: "theirs-uid"},
		},
	}
	return write(admission.Create, "serviceaccounts/token", request, nil)
}

func evict(pod string) admission.Attributes {
	return write(admission.Create, "pods/eviction",
		&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: pod}}, nil)
}

func nodeRows() []row {
	const notOther = `nodes "other" is forbidden: node "me" is not allowed to modify node "other" [NR-NODE-1] [NS-ADMIT-1]`
	return []row{
		{name: "its own Node", write: updateNode("me", asBefore, asBefore)},
		{name: "another Node", write: updateNode("other", asBefore, asBefore), by: "NS-ADMIT-1", says: notOther},
		{name: "another Node, its scope having none", scope: "secrets", write: updateNode("other", asBefore, asBefore)},
		{name: "another Node, its scope having another subresource", scope: "nodes/status",
			write: updateNode("other", asBefore, asBefore)},
		{name: "another Node, everything being in its scope", scope: "*", write: updateNode("other", asBefore, asBefore),
			by: "NS-ADMIT-1", says: notOther},
		{name: "another Node, its scope being unreadable", scope: "Nodes", write: updateNode("other", asBefore, asBefore),
			by: "NS-ADMIT-1", says: notOther},
		{name: "its own Node's status", write: write(admission.Update, "nodes/status", aNode("me"), aNode("me"))},
		{name: "another Node's status", write: write(admission.Update, "nodes/status", aNode("other"), aNode("other")),
			by: "NS-ADMIT-1", says: notOther},
		{name: "its own Node's owners", write: updateNode("me", asBefore, owned), by: "NS-ADMIT-1",
			says: `nodes "me" is forbidden: node "me" is not allowed to modify ownerReferences [NR-NODE-5] [NS-ADMIT-1]`},
		{name: "no more of a pod on its node", write: write(admission.Delete, "pods", nil, aPod("mine", "me"))},
		{name: "no more of a pod on another node", write: write(admission.Delete, "pods", nil, aPod("theirs", "other")),
			by: "NS-ADMIT-1",
			says: `pods "theirs" is forbidden: ` +
				`node "me" can only delete pods with spec.nodeName set to itself [NR-POD-4] [NS-ADMIT-1]`},
		{name: "an eviction on its node", write: evict("mine")},
		{name: "an eviction on another node", write: evict("theirs"), by: "NS-ADMIT-1",
			says: `pods "theirs" is forbidden: ` +
				`node me can only evict pods with spec.nodeName set to itself [NR-POD-8] [NS-ADMIT-1]`},
		{name: "an eviction of a deleted pod", write: evict("gone"), by: "NS-ADMIT-1",
			says: `pods "gone" not found [NR-POD-8] [NS-ADMIT-1]`},
		{name: "the status of a pod on its node",
			write: write(admission.Update, "pods/status", aPod("mine", "me"), aPod("mine", "me"))},
		{name: "the status of a pod on another node",
			write: write(admission.Update, "pods/status", aPod("theirs", "other"), aPod("theirs", "other")), by: "NS-ADMIT-1",
			says: `pods "theirs" is forbidden: ` +
				`node "me" can only update pod status for pods with spec.nodeName set to itself [NR-POD-6] [NS-ADMIT-1]`},
		{name: "its node's lease", write: write(admission.Create, "leases", lease("me"), nil)},
		{name: "another node's lease", write: write(admission.Create, "leases", lease("other"), nil), by: "NS-ADMIT-1",
			says: `leases.coordination.k8s.io "other" is forbidden: ` +
				`can only access node lease with the same name as the requesting node [NR-LEASE-1] [NS-ADMIT-1]`},
		{name: "a token of a pod on another node", write: token("theirs"), by: "NS-ADMIT-1",
			says: `serviceaccounts "agent" is forbidden: ` +
				`node requested token bound to a pod scheduled on a different node [NR-SA-3] [NS-ADMIT-1]`},
		{name: "a token of a pod on another node, its scope having none", scope: "pods", write: token("theirs"),
			by: "NS-TOKEN-2",
			says: `serviceaccounts "agent" is forbidden: ` +
				`pod "theirs", with the UID in spec.boundObjectRef, is not on node "me" [NS-TOKEN-2]`},
		{name: "a secret, which has no rule", scope: "*",
			write: write(admission.Update, "secrets", &corev1.Secret{}, &corev1.Secret{})},
	}
}

// Each exemption disables its rule on the pod's own node. It does not disable another rule, and
// has no effect on another node.
func exemptionRows() []row {
	const taints = `nodes "me" is forbidden: node "me" is not allowed to modify taints [NR-NODE-4] [NS-ADMIT-1]`
	const notOther = `nodes "other" is forbidden: node "me" is not allowed to modify node "other" [NR-NODE-1] [NS-ADMIT-1]`
	annotate := func(p *corev1.Pod) { p.Annotations = map[string]string{"cni.example.com/address": "10.0.0.1"} }
	status := func(name, node string) admission.Attributes {
		return write(admission.Update, "pods/status", aPod(name, node, annotate), aPod(name, node))
	}
	event := func(about, host string) admission.Attributes {
		return write(admission.Create, "events", &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "e"},
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: about, UID: "x"},
			Source:         corev1.EventSource{Component: "handler", Host: host},
		}, nil)
	}
	return []row{
		{name: "taints without the exemption", write: updateNode("me", asBefore, tainted), by: "NS-ADMIT-1", says: taints},
		{name: "taints with it", exemptions: "taints", write: updateNode("me", asBefore, tainted)},
		{name: "no taints any more with it", exemptions: "taints", write: updateNode("me", tainted, asBefore)},
		{name: "another Node's taints with it", exemptions: "taints", write: updateNode("other", asBefore, tainted),
			by: "NS-ADMIT-1", says: notOther},
		{name: "taints with another exemption", exemptions: "uncordon,node-annotations,pod-annotations,event-source",
			write: updateNode("me", asBefore, tainted), by: "NS-ADMIT-1", says: taints},
		{name: "taints and owners with it", exemptions: "taints",
			write: updateNode("me", asBefore, func(n *corev1.Node) { tainted(n); owned(n) }), by: "NS-ADMIT-1",
			says: `nodes "me" is forbidden: node "me" is not allowed to modify ownerReferences [NR-NODE-5] [NS-ADMIT-1]`},
		{name: "a cordon", write: updateNode("me", asBefore, cordoned)},
		{name: "no cordon any more", write: updateNode("me", cordoned, asBefore), by: "NS-ADMIT-1",
			says: `nodes "me" is forbidden: node "me" is not allowed to make itself schedulable [NR-CORDON-1] [NS-ADMIT-1]`},
		{name: "no cordon any more with the exemption", exemptions: "uncordon", write: updateNode("me", cordoned, asBefore)},
		{name: "no cordon of another Node with it", exemptions: "uncordon", write: updateNode("other", cordoned, asBefore),
			by: "NS-ADMIT-1", says: notOther},
		{name: "a Node's annotation", write: updateNode("me", asBefore, annotated), by: "NS-ADMIT-1",
			says: `nodes "me" is forbidden: ` +
				`node "me" is not allowed to modify annotations: cni.example.com/address [NR-ANNOTATION-1] [NS-ADMIT-1]`},
		{name: "a Node's annotation with the exemption", exemptions: "node-annotations",
			write: updateNode("me", asBefore, annotated)},
		{name: "another Node's annotation with it", exemptions: "node-annotations",
			write: updateNode("other", asBefore, annotated), by: "NS-ADMIT-1", says: notOther},
		{name: "a pod's annotation through its status", write: status("mine", "me"), by: "NS-ADMIT-1",
			says: `pods "mine" is forbidden: ` +
				`node "me" cannot update annotations through pod status [NR-PODMETA-1] [NS-ADMIT-1]`},
		{name: "a pod's annotation through its status with the exemption", exemptions: "pod-annotations",
			write: status("mine", "me")},
		{name: "the annotation of another node's pod with it", exemptions: "pod-annotations",
			write: status("theirs", "other"), by: "NS-ADMIT-1",
			says: `pods "theirs" is forbidden: ` +
				`node "me" can only update pod status for pods with spec.nodeName set to itself [NR-POD-6] [NS-ADMIT-1]`},
		{name: "an event that names its node", write: event("me", "me")},
		{name: "an event that names no node", write: event("me", ""), by: "NS-ADMIT-1",
			says: `events "e" is forbidden: ` +
				`node "me" can only write events with itself as source.host and reportingInstance [NR-EVENT-1] [NS-ADMIT-1]`},
		{name: "an event that names no node with the exemption", exemptions: "event-source", write: event("me", "")},
		{name: "an event about another Node with it", exemptions: "event-source", write: event("other", ""), by: "NS-ADMIT-1",
			says: `events "e" is forbidden: ` +
				`node "me" can only write events about itself, its own pods, ` +
				`and objects that they bring to it [NR-EVENT-2] [NS-ADMIT-1]`},
	}
}

func podRows() []row {
	labelled := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "victim"} }
	adopted := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "r"}}
	}
	annotate := func(p *corev1.Pod) { p.Annotations = map[string]string{"cni.example.com/address": "10.0.0.1"} }
	update := func(before, after *corev1.Pod) admission.Attributes {
		return write(admission.Update, "pods", after, before)
	}
	const onlyOwn = `is forbidden: a pod on node "me" can only change pods ` +
		`with spec.nodeName set to that node [NS-ADMIT-2]`
	mirror := aPod("static-me", "me",
		func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })
	return []row{
		{name: "an annotation of a pod on its node", write: update(aPod("mine", "me"), aPod("mine", "me", annotate))},
		{name: "an annotation of a pod on another node",
			write: update(aPod("theirs", "other"), aPod("theirs", "other", annotate)), by: "NS-ADMIT-2",
			says: `pods "theirs" ` + onlyOwn},
		{name: "an annotation of a pod on another node, its scope having none", scope: "nodes",
			write: update(aPod("theirs", "other"), aPod("theirs", "other", annotate))},
		{name: "an annotation of a pod on no node", write: update(aPod("p", ""), aPod("p", "", annotate)), by: "NS-ADMIT-2",
			says: `pods "p" ` + onlyOwn},
		{name: "a pod that comes to its node", write: update(aPod("p", "other"), aPod("p", "me")), by: "NS-ADMIT-2",
			says: `pods "p" ` + onlyOwn},
		{name: "a pod that leaves its node", write: update(aPod("p", "me"), aPod("p", "other")), by: "NS-ADMIT-2",
			says: `pods "p" ` + onlyOwn},
		{name: "a label of a pod on its node", write: update(aPod("mine", "me"), aPod("mine", "me", labelled)),
			by: "NS-ADMIT-3", says: `pods "mine" is forbidden: a pod on node "me" cannot change labels of pods [NS-ADMIT-3]`},
		{name: "a label of a pod on its node, its scope having none", scope: "nodes",
			write: update(aPod("mine", "me"), aPod("mine", "me", labelled))},
		{name: "an owner of a pod on its node", write: update(aPod("mine", "me"), aPod("mine", "me", adopted)),
			by: "NS-ADMIT-3", says: `pods "mine" is forbidden: ` +
				`a pod on node "me" cannot change ownerReferences of pods [NS-ADMIT-3]`},
		{name: "a new pod", write: write(admission.Create, "pods", aPod("new", "me"), nil), by: "NS-ADMIT-2",
			says: `pods "new" is forbidden: a pod on node "me" creates no pods [NS-ADMIT-2]`},
		{name: "a new mirror pod", write: write(admission.Create, "pods", mirror, nil), by: "NS-ADMIT-2",
			says: `pods "static-me" is forbidden: a pod on node "me" creates no pods [NS-ADMIT-2]`},
		{name: "a new pod, its scope having none", scope: "nodes",
			write: write(admission.Create, "pods", aPod("new", "me"), nil)},
	}
}

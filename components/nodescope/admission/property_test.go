// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"math/rand/v2"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// TestPodIsDeniedWhatItsNodeIsDenied generates random writes to all resources that
// NodeRestriction has rules for. It compares the decision for the pod with the decision for its
// node. A pod may be admitted where its node is denied in two cases only. It changes a pod on
// its own node. Or it has an exemption from the rule that denied the node.
func TestPodIsDeniedWhatItsNodeIsDenied(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	scopes := []string{"*", usualScope, usualScope + ",*.coordination.k8s.io"}
	exemptions := []string{"", "", "taints", "uncordon,node-annotations", "pod-annotations,event-source",
		"taints,uncordon,node-annotations,pod-annotations,event-source"}
	reviewers := map[string]*Reviewer{}
	var admitted, refused, exempted, extended int
	for range 20000 {
		exempt := exemptions[dice.IntN(len(exemptions))]
		scope := scopes[dice.IntN(len(scopes))]
		if reviewers[scope+" "+exempt] == nil {
			reviewers[scope+" "+exempt] = world(t, scope, exempt)
		}
		r := reviewers[scope+" "+exempt]
		ofPod := madeUp(dice)
		if held, _ := nodescope.ParseScope(scope); !held.Covers(resourceOf(ofPod)) {
			continue
		}
		got := r.Review(t.Context(), ofPod)
		node := r.config.Nodes.Review(t.Context(), asNode{ofPod, kubelet("me")})
		switch {
		case !got.Allowed():
			refused++
		case node.Allowed():
			admitted++
		case isExtended(ofPod):
			extended++
		default:
			exempted++
			if !mayLift(t, exempt, node) {
				t.Fatalf("with %q the pod is admitted what its node is refused: %v of %v", exempt, node.Reason(), ofPod)
			}
		}
		if got.Allowed() && ofOther(ofPod) {
			t.Fatalf("with %q the pod is admitted what is of another node: %+v", exempt, ofPod)
		}
	}
	for name, n := range map[string]int{
		"admitted": admitted, "denied": refused, "exempted": exempted, "extended": extended,
	} {
		if n < 100 {
			t.Errorf("only %d are %s", n, name)
		}
	}
}

// mayLift reports whether an exemption disables the rule that denied the node. Several rules
// may deny a write; by has only the first one.
func mayLift(t *testing.T, exempt string, by rules.Decision) bool {
	t.Helper()
	named, err := nodescope.ParseExemptions(exempt)
	if err != nil {
		t.Fatal(err)
	}
	return named.Lifts(by.Rule)
}

func isExtended(a admission.Attributes) bool {
	pod, ok := a.GetOldObject().(*corev1.Pod)
	return ok && a.GetSubresource() == "" && a.GetOperation() == admission.Update && pod.Spec.NodeName == "me"
}

// ofOther is true if the object belongs to another node, before or after the write.
func ofOther(a admission.Attributes) bool {
	for _, o := range []runtime.Object{a.GetOldObject(), a.GetObject()} {
		switch o := o.(type) {
		case *corev1.Node:
			return o.Name != "me"
		case *corev1.Pod:
			return o.Spec.NodeName != "me"
		case *coordinationv1.Lease:
			return o.Name != "me"
		}
	}
	return false
}

// madeUp is a random write of the usual pod.
func madeUp(dice *rand.Rand) admission.Attributes {
	node := []string{"me", "me", "other"}[dice.IntN(3)]
	op := []admission.Operation{admission.Create, admission.Update, admission.Update, admission.Update,
		admission.Delete}[dice.IntN(5)]
	switch dice.IntN(8) {
	case 0:
		return states(op, "leases", leaseOf(node), leaseOf(node))
	case 1:
		return states(op, "events", eventOf(dice, node), eventOf(dice, "me"))
	case 2, 3:
		at := []string{"pods", "pods/status", "pods/resize"}[dice.IntN(3)]
		return states(op, at, somePod(dice, node), somePod(dice, node))
	default:
		at := []string{"nodes", "nodes/status"}[dice.IntN(2)]
		return states(op, at, someNode(dice, node), someNode(dice, node))
	}
}

// states omits the objects that the operation does not have.
func states(op admission.Operation, at string, object, old runtime.Object) admission.Attributes {
	switch op {
	case admission.Create:
		old = nil
	case admission.Delete:
		object = nil
	}
	return write(op, at, object, old)
}

func leaseOf(node string) *coordinationv1.Lease { return lease(node) }

func eventOf(dice *rand.Rand, about string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "e"},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: about},
		Source:         corev1.EventSource{Host: []string{"me", "", "other"}[dice.IntN(3)]},
	}
}

func someNode(dice *rand.Rand, name string) *corev1.Node {
	edits := []func(*corev1.Node){
		tainted, cordoned, annotated, owned, func(n *corev1.Node) { n.Labels["node-restriction.kubernetes.io/x"] = "y" }}
	return aNode(name, func(n *corev1.Node) {
		for _, edit := range edits {
			if dice.IntN(8) == 0 {
				edit(n)
			}
		}
	})
}

func somePod(dice *rand.Rand, node string) *corev1.Pod {
	return aPod("p", node, func(p *corev1.Pod) {
		switch dice.IntN(6) {
		case 0:
			p.Labels["app"] = "victim"
		case 1:
			p.Annotations = map[string]string{"x": strings.Repeat("y", dice.IntN(3))}
		case 2:
			p.Finalizers = []string{"x/y"}
		}
	})
}

// No exemption disables a rule that limits a pod to its node.
func TestNodeBoundRulesAreNotExemptable(t *testing.T) {
	holds := map[rules.ID]bool{"NR-NODE-1": true, "NR-POD-4": true, "NR-POD-6": true, "NR-POD-8": true, "NR-LEASE-1": true,
		"NR-EVENT-2": true, "NR-SA-3": true, "NR-CSINODE-1": true}
	for _, id := range noderestriction.Exemptable {
		if holds[id] {
			t.Errorf("%s can be lifted", id)
		}
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const aboutMine = `pods "mine" is forbidden: node "me" `

// status is the update of the status of default/mine from one edit to another.
func status(old, now func(*corev1.Pod)) admission.Attributes {
	return write("me", admission.Update, "pods", "status", aPod("default", "mine", "me", now),
		aPod("default", "mine", "me", old))
}

func asItIs(*corev1.Pod) {}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func TestPodStatusMetadata(t *testing.T) {
	annotated := func(value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations = map[string]string{"a": value} }
	}
	finalized := func(all ...string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Finalizers = all } }
	owned := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "me"}}
	}
	const (
		annotations = aboutMine + "cannot update annotations through pod status [NR-PODMETA-1]"
		finalizers  = aboutMine + "cannot update finalizers or owner references through pod status [NR-PODMETA-2]"
	)
	run(t, restrict(aCluster(), enforce("NR-PODMETA-1", "NR-PODMETA-2")), []row{
		{name: "a status", write: status(phase(corev1.PodPending), phase(corev1.PodRunning))},
		{name: "the same annotation", write: status(annotated("x"), annotated("x"))},
		{name: "another value", write: status(annotated("x"), annotated("y")), by: "NR-PODMETA-1", says: annotations},
		{name: "one more", write: status(asItIs, annotated("x")), by: "NR-PODMETA-1", says: annotations},
		{name: "one less", write: status(annotated("x"), asItIs), by: "NR-PODMETA-1", says: annotations},
		{name: "none and an empty map are the same",
			write: status(asItIs, func(p *corev1.Pod) { p.Annotations = map[string]string{} })},
		{name: "the same finalizer", write: status(finalized("a"), finalized("a"))},
		{name: "one finalizer more", write: status(asItIs, finalized("a")), by: "NR-PODMETA-2", says: finalizers},
		{name: "one finalizer less", write: status(finalized("a", "b"), finalized("a")), by: "NR-PODMETA-2",
			says: finalizers},
		{name: "the same owner", write: status(owned, owned)},
		{name: "another owner", write: status(asItIs, owned), by: "NR-PODMETA-2", says: finalizers},
	})
	run(t, restrict(aCluster()), []row{
		{name: "off: annotations", write: status(asItIs, annotated("x"))},
		{name: "off: finalizers", write: status(asItIs, finalized("a"))},
	})
}

// mirrorIn is a mirror pod in a phase.
func mirrorIn(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations, p.Status.Phase = map[string]string{corev1.MirrorPodAnnotationKey: "x"}, phase
	}
}

func TestPodStatusPhase(t *testing.T) {
	const says = aboutMine + "cannot change the phase of a pod that has ended as "
	run(t, restrict(aCluster(), enforce("NR-PODPHASE-1")), []row{
		{name: "a pod starts", write: status(phase(corev1.PodPending), phase(corev1.PodRunning))},
		{name: "a pod ends", write: status(phase(corev1.PodRunning), phase(corev1.PodFailed))},
		{name: "and stays so", write: status(phase(corev1.PodFailed), phase(corev1.PodFailed))},
		{name: "it does not come back", write: status(phase(corev1.PodFailed), phase(corev1.PodRunning)), by: "NR-PODPHASE-1",
			says: says + "Failed [NR-PODPHASE-1]"},
		{name: "nor to no phase at all", write: status(phase(corev1.PodSucceeded), phase("")), by: "NR-PODPHASE-1",
			says: says + "Succeeded [NR-PODPHASE-1]"},
		{name: "but ends otherwise", write: status(phase(corev1.PodFailed), phase(corev1.PodSucceeded))},
		{name: "and a mirror pod begins again", write: status(mirrorIn(corev1.PodFailed), mirrorIn(corev1.PodRunning))},
	})
	run(t, restrict(aCluster()), []row{{name: "off", write: status(phase(corev1.PodFailed), phase(corev1.PodRunning))}})
}

func TestPodStatusInAudit(t *testing.T) {
	all := []rules.ID{"NR-PODMETA-1", "NR-PODMETA-2", "NR-PODPHASE-1", "NR-PODIP-2", "NR-PODIP-1", "NR-PODIP-3"}
	v := restrict(aCluster(), inMode(rules.Audit, all...)).Review(t.Context(),
		status(phase(corev1.PodFailed), func(p *corev1.Pod) {
			p.Annotations, p.Finalizers = map[string]string{"a": "x"}, []string{"a"}
			p.Status.PodIP, p.Status.HostIP = "none", "none"
		}))
	if !v.Allowed() || !slices.Equal(v.Audited(), all) {
		t.Errorf("%+v", v)
	}
}

func TestPodStatusOfNothing(t *testing.T) {
	r := restrict(aCluster())
	for _, pods := range [][2]*corev1.Pod{{nil, aPod("default", "mine", "me")}, {aPod("default", "mine", "me"), nil},
		{nil, nil}} {
		q := &request{Attributes: status(asItIs, asItIs), node: "me"}
		if r.reviewPodStatusBeyond(t.Context(), q, pods[0], pods[1]) == nil {
			t.Errorf("admitted %v", pods)
		}
	}
}

// TestAStatusWithoutNewIPsIsCheap has a cluster that answers nothing, and counts.
func TestAStatusWithoutNewIPsIsCheap(t *testing.T) {
	failing := aCluster()
	failing.err = errors.New("timeout")
	r := restrict(failing, func(c *Config) { c.Modes = Modes(rules.Enforce) })
	had := func(p *corev1.Pod) {
		p.Annotations, p.Finalizers = map[string]string{"a": "x"}, []string{"a"}
		p.Status.PodIP, p.Status.PodIPs = "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}}
		p.Status.HostIP, p.Status.HostIPs = "192.0.2.1", []corev1.HostIP{{IP: "192.0.2.1"}}
	}
	old, pod := aPod("default", "mine", "me", had), aPod("default", "mine", "me", had)
	q := &request{Attributes: status(had, had), node: "me"}
	allocations := testing.AllocsPerRun(100, func() {
		if refused := r.reviewPodStatusBeyond(t.Context(), q, old, pod); refused != nil {
			t.Fatal(refused.Reason())
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

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

// status returns a status update of the pod default/mine, from one edit to another.
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
		{name: "status only: allowed", write: status(phase(corev1.PodPending), phase(corev1.PodRunning))},
		{name: "same annotation: allowed", write: status(annotated("x"), annotated("x"))},
		{name: "change an annotation: denied",
			write: status(annotated("x"), annotated("y")), by: "NR-PODMETA-1", says: annotations},
		{name: "add an annotation: denied", write: status(asItIs, annotated("x")), by: "NR-PODMETA-1", says: annotations},
		{name: "remove an annotation: denied", write: status(annotated("x"), asItIs), by: "NR-PODMETA-1", says: annotations},
		{name: "empty annotation map replaces no map: allowed",
			write: status(asItIs, func(p *corev1.Pod) { p.Annotations = map[string]string{} })},
		{name: "same finalizer: allowed", write: status(finalized("a"), finalized("a"))},
		{name: "add a finalizer: denied", write: status(asItIs, finalized("a")), by: "NR-PODMETA-2", says: finalizers},
		{name: "remove a finalizer: denied", write: status(finalized("a", "b"), finalized("a")), by: "NR-PODMETA-2",
			says: finalizers},
		{name: "same owner: allowed", write: status(owned, owned)},
		{name: "change an owner: denied", write: status(asItIs, owned), by: "NR-PODMETA-2", says: finalizers},
	})
	run(t, restrict(aCluster()), []row{
		{name: "rule off, annotations: allowed", write: status(asItIs, annotated("x"))},
		{name: "rule off, finalizers: allowed", write: status(asItIs, finalized("a"))},
	})
}

// mirrorIn makes a pod a mirror pod in the phase.
func mirrorIn(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations, p.Status.Phase = map[string]string{corev1.MirrorPodAnnotationKey: "x"}, phase
	}
}

func TestPodStatusPhase(t *testing.T) {
	const says = aboutMine + "cannot change the phase of a pod that has ended as "
	run(t, restrict(aCluster(), enforce("NR-PODPHASE-1")), []row{
		{name: "Pending to Running: allowed", write: status(phase(corev1.PodPending), phase(corev1.PodRunning))},
		{name: "Running to ended: allowed", write: status(phase(corev1.PodRunning), phase(corev1.PodFailed))},
		{name: "same terminal phase: allowed", write: status(phase(corev1.PodFailed), phase(corev1.PodFailed))},
		{name: "terminal phase to Running: denied",
			write: status(phase(corev1.PodFailed), phase(corev1.PodRunning)), by: "NR-PODPHASE-1",
			says: says + "Failed [NR-PODPHASE-1]"},
		{name: "terminal phase to no phase: denied",
			write: status(phase(corev1.PodSucceeded), phase("")), by: "NR-PODPHASE-1",
			says: says + "Succeeded [NR-PODPHASE-1]"},
		{name: "terminal phase to the other terminal phase: allowed",
			write: status(phase(corev1.PodFailed), phase(corev1.PodSucceeded))},
		{name: "mirror pod, terminal phase to Running: allowed",
			write: status(mirrorIn(corev1.PodFailed), mirrorIn(corev1.PodRunning))},
	})
	run(t, restrict(aCluster()), []row{{name: "rule off, terminal phase to Running: allowed",
		write: status(phase(corev1.PodFailed), phase(corev1.PodRunning))}})
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

func TestPodStatusWithoutObjects(t *testing.T) {
	r := restrict(aCluster())
	for _, pods := range [][2]*corev1.Pod{{nil, aPod("default", "mine", "me")}, {aPod("default", "mine", "me"), nil},
		{nil, nil}} {
		q := &request{Attributes: status(asItIs, asItIs), node: "me"}
		if r.reviewPodStatusExtensions(t.Context(), q, pods[0], pods[1]) == nil {
			t.Errorf("admitted %v", pods)
		}
	}
}

// TestPodStatusWithoutNewIPsNeedsNoLookup uses a cluster whose lookups fail.
func TestPodStatusWithoutNewIPsNeedsNoLookup(t *testing.T) {
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
	if refused := r.reviewPodStatusExtensions(t.Context(), q, old, pod); refused != nil {
		t.Error(refused.Reason())
	}
}

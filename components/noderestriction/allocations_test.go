// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// TestCommonWritesHardlyAllocate measures the writes that kubelets send most. As after decoding,
// the old and the new object share no memory.
func TestCommonWritesHardlyAllocate(t *testing.T) {
	tainted := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{}}}
		n.Labels = maps.Clone(n.Labels)
		n.Annotations = map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
	}
	running := func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "c"}}}
	}
	claims := func(p *corev1.Pod) {
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new(string)}}
	}
	r := restrict(aCluster(), func(c *Config) { c.Features.CSIVolumeHealth = true })
	for name, a := range map[string]admission.Attributes{
		"node status":       updateNode("status", tainted, tainted),
		"node":              updateNode("", unedited, labelled("example.com/team", "x")),
		"registration":      createNode(tainted),
		"pod status":        updateStatus(samePod, running),
		"pod status claims": updateStatus(claims, claims),
		"mirror pod":        createMirror(),
		"pod deletion":      write("me", admission.Delete, "pods", "", nil, aPod("default", "mine", "me")),
		"eviction":          evict("default", "mine"),
		"claim status":      updateClaim(asBefore, mayChange["capacity"]),
		"lease": write("me", admission.Update, "leases", "", aLease("kube-node-lease", "me"),
			aLease("kube-node-lease", "me")),
		"CSINode":        write("me", admission.Update, "csinodes", "", aCSINode("me"), aCSINode("me")),
		"CSINode status": write("me", admission.Update, "csinodes", "status", aCSINode("me"), aCSINode("me")),
		"ResourceSlice":  write("me", admission.Create, "resourceslices", "", aSlice("me"), nil),
	} {
		if got := r.Review(t.Context(), a); !got.Allowed() {
			t.Errorf("%s: refused: %s", name, got.Reason())
		}
		if got := testing.AllocsPerRun(100, func() { r.Review(t.Context(), a) }); got > 2 {
			t.Errorf("%s: %v allocations, want at most 2", name, got)
		}
	}
}

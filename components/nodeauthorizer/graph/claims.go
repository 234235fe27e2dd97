// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claimOwner is all that the graph keeps of a claim. It is kept only for a claim whose controller
// is a pod. Most claims have no such controller and take no memory.
type claimOwner struct {
	pod string
	uid types.UID
}

// SetPersistentVolumeClaim records which pod controls the claim, or that none does. The claim of a
// pod's ephemeral volume belongs to that pod only if the pod is its controller, by name and UID: an
// older claim may have the same name. The graph may receive the pod and the claim in any order.
//
// Source: k8s.io/component-helpers/storage/ephemeral VolumeIsForPod.
func (g *Graph) SetPersistentVolumeClaim(claim *corev1.PersistentVolumeClaim) {
	var owner claimOwner
	if ref := controllingPod(claim); ref != nil {
		owner = claimOwner{ref.Name, ref.UID}
	}
	g.pods.Lock()
	defer g.pods.Unlock()
	g.setOwner(identity{claim.Namespace, claim.Name}, owner)
}

// DeletePersistentVolumeClaim removes the owner of the claim.
func (g *Graph) DeletePersistentVolumeClaim(namespace, name string) {
	g.pods.Lock()
	defer g.pods.Unlock()
	g.deleteClaim(namespace, name)
}

func (g *Graph) deleteClaim(namespace, name string) {
	g.setOwner(identity{namespace, name}, claimOwner{})
}

// controllingPod returns the claim's controller reference if it is a pod, else nil.
func controllingPod(claim *corev1.PersistentVolumeClaim) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(claim)
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.UID == "" {
		return nil
	}
	return ref
}

// setOwner returns early for a claim whose owner has not changed. Most claims never have an owner.
func (g *Graph) setOwner(claim identity, owner claimOwner) {
	if g.kept&unowned == 0 || g.ownerOf(claim) == owner {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.state
	old := s.ownerOf(claim)
	s.recordOwner(claim, owner)
	s.remarkClaim(claim, old.pod)
	if owner.pod != old.pod {
		s.remarkClaim(claim, owner.pod)
	}
}

func (g *Graph) ownerOf(claim identity) claimOwner {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.state.ownerOf(claim)
}

// ownerOf returns the zero value for a claim that no pod is known to control.
func (s *state) ownerOf(claim identity) claimOwner {
	id := s.objects.find(claimRecord, claim.namespace, claim.name)
	return *s.owners.at(s.objects.at(id).detail)
}

func (s *state) owns(pod string, uid types.UID, claim identity) bool {
	return s.ownerOf(claim) == claimOwner{pod, uid}
}

// recordOwner must be called only with an owner that differs from the recorded one.
func (s *state) recordOwner(claim identity, owner claimOwner) {
	id := s.objects.find(claimRecord, claim.namespace, claim.name)
	switch {
	case id == 0:
		id = s.objects.internNamed(claimRecord, claim)
		s.objects.retain(id)
		s.objects.at(id).detail = s.owners.put(owner)
	case owner == claimOwner{}:
		s.owners.drop(s.objects.at(id).detail)
		s.objects.release(id)
	default:
		*s.owners.at(s.objects.at(id).detail) = owner
	}
}

// remarkClaim updates the flags under which a pod refers to the claim, after the claim's owner has
// changed. pod is the previous or the new owner of the claim. No other pod can be affected.
func (s *state) remarkClaim(claim identity, pod string) {
	self := s.objects.find(Pod, claim.namespace, pod)
	if self == 0 {
		return
	}
	bound := *s.pods.at(s.objects.at(self).detail)
	right := unowned
	if s.owns(pod, bound.uid, claim) {
		right = owned
	}
	s.remark(self, bound, func(k key) edgeFlags {
		if k.kind != PersistentVolumeClaim || k.name != claim.name || k.flags&(owned|unowned) == 0 {
			return k.flags
		}
		return k.flags&ended | right
	})
}

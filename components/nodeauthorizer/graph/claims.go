// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claimOwner is all that is kept of a claim, and only of one that a pod controls.
// Claims that nobody controls are the many, and cost nothing.
type claimOwner struct {
	pod string
	uid types.UID
}

// SetPersistentVolumeClaim makes the graph agree with what the claim says about
// its owner. The claim of a pod's ephemeral volume is that pod's only if the pod
// is its controller, by name and UID: a claim of the same name may have been there
// before. It does not matter which of the two the graph hears of first.
//
// Source: k8s.io/component-helpers/storage/ephemeral VolumeIsForPod.
func (g *Graph) SetPersistentVolumeClaim(claim *corev1.PersistentVolumeClaim) {
	g.pods.Lock()
	defer g.pods.Unlock()
	g.setClaim(claim)
}

// DeletePersistentVolumeClaim forgets who owned the claim.
func (g *Graph) DeletePersistentVolumeClaim(namespace, name string) {
	g.pods.Lock()
	defer g.pods.Unlock()
	g.deleteClaim(namespace, name)
}

// ReplacePersistentVolumeClaims makes the graph agree with the list: who owned
// claims that are not in it is forgotten.
func (g *Graph) ReplacePersistentVolumeClaims(claims []*corev1.PersistentVolumeClaim) {
	g.pods.Lock()
	defer g.pods.Unlock()
	replace(g.known(claimRecord), claims, g.setClaim, g.deleteClaim)
}

func (g *Graph) setClaim(claim *corev1.PersistentVolumeClaim) {
	var owner claimOwner
	if ref := controllingPod(claim); ref != nil {
		owner = claimOwner{ref.Name, ref.UID}
	}
	g.setOwner(identity{claim.Namespace, claim.Name}, owner)
}

func (g *Graph) deleteClaim(namespace, name string) {
	g.setOwner(identity{namespace, name}, claimOwner{})
}

// controllingPod returns the claim's owner that is its controller, if that is a pod.
func controllingPod(claim *corev1.PersistentVolumeClaim) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(claim)
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.UID == "" {
		return nil
	}
	return ref
}

// setOwner does nothing for the many claims that have no owner before and after.
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

// ownerOf returns the empty record for a claim that no pod is known to control.
func (s *state) ownerOf(claim identity) claimOwner {
	id := s.objects.find(claimRecord, claim.namespace, claim.name)
	return *s.owners.at(s.objects.at(id).detail)
}

func (s *state) owns(pod string, uid types.UID, claim identity) bool {
	return s.ownerOf(claim) == claimOwner{pod, uid}
}

// recordOwner needs an owner that is not the recorded one.
func (s *state) recordOwner(claim identity, owner claimOwner) {
	id := s.objects.find(claimRecord, claim.namespace, claim.name)
	switch {
	case id == 0:
		id = s.objects.internNamed(claimRecord, claim)
		s.objects.hold(id)
		s.objects.at(id).detail = s.owners.put(owner)
	case owner == claimOwner{}:
		s.owners.drop(s.objects.at(id).detail)
		s.objects.release(id)
	default:
		*s.owners.at(s.objects.at(id).detail) = owner
	}
}

// remarkClaim makes what the pod of that name, if there is one, holds of the claim
// agree with the claim's owner. Only a pod that the claim names as its owner, or
// did, can be concerned.
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

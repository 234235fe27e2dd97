// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"math/bits"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// boundVolume is all that the graph keeps of a persistent volume. The volume is related to the
// nodes of its claim.
type boundVolume struct {
	claim objectID
	// next and previous link the volumes of one claim. Usually a claim has one volume.
	next, previous uint32
	// secrets are the secrets that a kubelet needs: sorted, without duplicates.
	secrets []objectID
}

// volumeWriter orders the writers of volumes and has a buffer that they reuse.
type volumeWriter struct {
	sync.Mutex
	secrets []identity
}

// SetPersistentVolume makes the graph agree with the volume. It replaces everything that the graph
// knew about a volume of that name. A volume without a claim has no relations. The graph keeps no
// reference to the volume.
func (g *Graph) SetPersistentVolume(volume *corev1.PersistentVolume) {
	g.volumes.Lock()
	defer g.volumes.Unlock()
	claim := volume.Spec.ClaimRef
	if claim == nil || claim.Name == "" {
		g.deleteVolume("", volume.Name)
		return
	}
	g.volumes.secrets = volumeReferences(volume, g.volumes.secrets[:0])
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state.bindVolume(volume.Name, identity{claim.Namespace, claim.Name}, g.volumes.secrets)
}

// DeletePersistentVolume removes the volume from the graph.
func (g *Graph) DeletePersistentVolume(name string) {
	g.volumes.Lock()
	defer g.volumes.Unlock()
	g.deleteVolume("", name)
}

func (g *Graph) deleteVolume(namespace, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if id := g.state.objects.find(PersistentVolume, namespace, name); id != 0 {
		g.state.unbindVolume(id, g.state.objects.at(id).detail)
	}
}

// bindVolume holds the references of the new volume before it releases those of the old one. So an
// object that is in both is not removed in between.
func (s *state) bindVolume(name string, claim identity, secrets []identity) {
	self := s.objects.internNamed(PersistentVolume, identity{"", name})
	bound := boundVolume{
		claim:   s.objects.internNamed(PersistentVolumeClaim, claim),
		secrets: make([]objectID, 0, len(secrets)),
	}
	for _, secret := range secrets {
		bound.secrets = append(bound.secrets, s.objects.internNamed(Secret, secret))
	}
	bound.secrets = distinct(bound.secrets)

	old := s.objects.at(self).detail
	if old != 0 && s.volumes.at(old).names(&bound) {
		return
	}
	s.objects.retain(self, bound.claim)
	s.objects.retain(bound.secrets...)
	if old != 0 {
		s.unbindVolume(self, old)
	}
	s.edges += 1 + len(bound.secrets)
	number := s.volumes.put(bound)
	s.objects.at(self).detail = number
	s.link(number)
	s.eachFormOf(bound.claim, func(claim *object) {
		claim.nodes.each(func(node uint32) { s.reachSecrets(bound.secrets, claim.flags, node) })
	})
}

// names reports whether both volumes have the same references.
func (v *boundVolume) names(other *boundVolume) bool {
	return v.claim == other.claim && slices.Equal(v.secrets, other.secrets)
}

func (s *state) unbindVolume(self objectID, number uint32) {
	old := *s.volumes.at(number)
	s.eachFormOf(old.claim, func(claim *object) {
		claim.nodes.each(func(node uint32) { s.unreachSecrets(old.secrets, claim.flags, node) })
	})
	s.unlink(number)
	s.volumes.drop(number)
	s.objects.at(self).detail = 0
	s.edges -= 1 + len(old.secrets)
	s.objects.release(old.secrets...)
	s.objects.release(self, old.claim)
}

// link inserts the volume at the head of its claim's list.
func (s *state) link(number uint32) {
	volume := s.volumes.at(number)
	claim := s.objects.at(volume.claim)
	volume.next = claim.detail
	if volume.next != 0 {
		s.volumes.at(volume.next).previous = number
	}
	claim.detail = number
}

// unlink removes the volume from its claim's list.
func (s *state) unlink(number uint32) {
	volume := s.volumes.at(number)
	if volume.previous == 0 {
		s.objects.at(volume.claim).detail = volume.next
	} else {
		s.volumes.at(volume.previous).next = volume.next
	}
	if volume.next != 0 {
		s.volumes.at(volume.next).previous = volume.previous
	}
}

// eachFormOf visits the claim under every set of flags. id must be the claim without flags, to
// which the volumes are linked.
func (s *state) eachFormOf(id objectID, visit func(*object)) {
	claim := s.objects.at(id)
	visit(claim)
	for sets := s.objects.present[claim.kind] &^ 1; sets != 0; sets &= sets - 1 {
		set := edgeFlags(bits.TrailingZeros32(sets)) //nolint:gosec // less than 32
		if form := s.objects.findKey(claim.under(set)); form != 0 {
			visit(s.objects.at(form))
		}
	}
}

// eachVolumeOf visits the volumes of a claim with any flags.
func (s *state) eachVolumeOf(claim *object, visit func(*boundVolume)) {
	if claim.flags != 0 {
		claim = s.objects.at(s.objects.findKey(claim.under(0)))
	}
	for number := claim.detail; number != 0; {
		volume := s.volumes.at(number)
		visit(volume)
		number = volume.next
	}
}

// volumeReferences appends the secrets that a kubelet needs to mount the volume. It leaves out the
// secrets that only a controller needs (CSI controllerPublish and controllerExpand).
//
// Source: pkg/api/v1/persistentvolume/util.go VisitPVSecretNames.
func volumeReferences(volume *corev1.PersistentVolume, secrets []identity) []identity {
	claimNamespace := ""
	if volume.Spec.ClaimRef != nil {
		claimNamespace = volume.Spec.ClaimRef.Namespace
	}
	switch source := &volume.Spec.PersistentVolumeSource; {
	case source.CSI != nil:
		secrets = appendSecret(secrets, source.CSI.NodePublishSecretRef, "")
		secrets = appendSecret(secrets, source.CSI.NodeStageSecretRef, "")
		secrets = appendSecret(secrets, source.CSI.NodeExpandSecretRef, "")
	case source.AzureFile != nil:
		ref := corev1.SecretReference{Name: source.AzureFile.SecretName}
		if source.AzureFile.SecretNamespace != nil {
			ref.Namespace = *source.AzureFile.SecretNamespace
		}
		secrets = appendSecret(secrets, &ref, claimNamespace)
	case source.CephFS != nil:
		secrets = appendSecret(secrets, source.CephFS.SecretRef, claimNamespace)
	case source.Cinder != nil:
		secrets = appendSecret(secrets, source.Cinder.SecretRef, "")
	case source.FlexVolume != nil:
		secrets = appendSecret(secrets, source.FlexVolume.SecretRef, claimNamespace)
	case source.RBD != nil:
		secrets = appendSecret(secrets, source.RBD.SecretRef, claimNamespace)
	case source.ScaleIO != nil:
		secrets = appendSecret(secrets, source.ScaleIO.SecretRef, claimNamespace)
	case source.ISCSI != nil:
		secrets = appendSecret(secrets, source.ISCSI.SecretRef, claimNamespace)
	case source.StorageOS != nil && source.StorageOS.SecretRef != nil:
		ref := source.StorageOS.SecretRef
		secrets = appendSecret(secrets, &corev1.SecretReference{Name: ref.Name, Namespace: ref.Namespace}, "")
	}
	return secrets
}

// appendSecret uses the fallback namespace for references without a namespace. Volumes that were
// stored before the field existed have such references.
func appendSecret(secrets []identity, ref *corev1.SecretReference, fallback string) []identity {
	if ref == nil || ref.Name == "" {
		return secrets
	}
	if ref.Namespace == "" {
		return append(secrets, identity{fallback, ref.Name})
	}
	return append(secrets, identity{ref.Namespace, ref.Name})
}

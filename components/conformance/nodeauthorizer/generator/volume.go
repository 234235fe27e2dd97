// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// Volume is a persistent volume. It has no claim if ClaimName is "". All its references are in one
// source.
type Volume struct {
	Name                      string
	ClaimNamespace, ClaimName string
	Refs                      []Ref
}

// Key implements [Object].
func (v Volume) Key() Key { return Key{graph.PersistentVolume, "", v.Name} }

// API implements [Object].
func (v Volume) API() metav1.Object {
	volume := &corev1.PersistentVolume{}
	volume.Name = v.Name
	if v.ClaimName != "" {
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: v.ClaimNamespace, Name: v.ClaimName}
	}
	for _, ref := range v.Refs {
		add, ok := volumeRefs[ref.Via]
		if !ok {
			panic(fmt.Sprintf("no volume names anything via %q", ref.Via))
		}
		add(&volume.Spec.PersistentVolumeSource, &corev1.SecretReference{Namespace: ref.Namespace, Name: ref.Name})
	}
	return volume
}

// Simpler implements [Object].
func (v Volume) Simpler() []Object {
	var simpler []Object
	for i := range v.Refs {
		w := v
		w.Refs = slices.Delete(slices.Clone(v.Refs), i, i+1)
		simpler = append(simpler, w)
	}
	return simpler
}

// volumeRefs are the fields in which a volume names a secret, by source.
var volumeRefs = map[string]func(*corev1.PersistentVolumeSource, *corev1.SecretReference){
	"azureFile": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		s.AzureFile = &corev1.AzureFilePersistentVolumeSource{SecretName: ref.Name}
		if ref.Namespace != "" {
			s.AzureFile.SecretNamespace = &ref.Namespace
		}
	},
	"azureFile, with an empty namespace": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		s.AzureFile = &corev1.AzureFilePersistentVolumeSource{SecretName: ref.Name, SecretNamespace: new(string)}
	},
	"cephfs": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		s.CephFS = &corev1.CephFSPersistentVolumeSource{SecretRef: ref}
	},
	"cinder": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		s.Cinder = &corev1.CinderPersistentVolumeSource{SecretRef: ref}
	},
	"flexVolume": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		s.FlexVolume = &corev1.FlexPersistentVolumeSource{SecretRef: ref}
	},
	"rbd": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		s.RBD = &corev1.RBDPersistentVolumeSource{SecretRef: ref}
	},
	"scaleIO": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		s.ScaleIO = &corev1.ScaleIOPersistentVolumeSource{SecretRef: ref}
	},
	"iscsi": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		s.ISCSI = &corev1.ISCSIPersistentVolumeSource{SecretRef: ref}
	},
	"storageos": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		s.StorageOS = &corev1.StorageOSPersistentVolumeSource{
			SecretRef: &corev1.ObjectReference{Namespace: ref.Namespace, Name: ref.Name},
		}
	},
	"csi.nodePublishSecretRef": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		driver(s).NodePublishSecretRef = ref
	},
	"csi.nodeStageSecretRef": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		driver(s).NodeStageSecretRef = ref
	},
	"csi.nodeExpandSecretRef": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		driver(s).NodeExpandSecretRef = ref
	},
	"csi.controllerPublishSecretRef": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		driver(s).ControllerPublishSecretRef = ref
	},
	"csi.controllerExpandSecretRef": func(s *corev1.PersistentVolumeSource, ref *corev1.SecretReference) {
		driver(s).ControllerExpandSecretRef = ref
	},
}

func driver(s *corev1.PersistentVolumeSource) *corev1.CSIPersistentVolumeSource {
	if s.CSI == nil {
		s.CSI = &corev1.CSIPersistentVolumeSource{Driver: "driver"}
	}
	return s.CSI
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import corev1 "k8s.io/api/core/v1"

// volumeReferences appends the secrets that a kubelet needs to mount the volume.
// Those that only a controller needs (CSI controllerPublish and
// controllerExpand) are not among them.
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

// appendSecret uses the fallback for references without a namespace, as volumes
// have that were stored before the field existed.
func appendSecret(secrets []identity, ref *corev1.SecretReference, fallback string) []identity {
	if ref == nil || ref.Name == "" {
		return secrets
	}
	if ref.Namespace == "" {
		return append(secrets, identity{fallback, ref.Name})
	}
	return append(secrets, identity{ref.Namespace, ref.Name})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// needsNoObject reports whether the volume's type needs no API objects, and the volume has no
// second type that does. A type that is in neither list is unknown.
func needsNoObject(source *corev1.VolumeSource) bool {
	return isLocal(source) && !isOfAPI(source)
}

// isLocal lists the volume types that need no API objects. The most frequent come first.
func isLocal(source *corev1.VolumeSource) bool {
	return source.HostPath != nil || source.EmptyDir != nil || source.DownwardAPI != nil || source.Image != nil ||
		source.NFS != nil ||
		source.AWSElasticBlockStore != nil || source.AzureDisk != nil || source.GCEPersistentDisk != nil ||
		source.VsphereVolume != nil ||
		source.CephFS != nil || source.Cinder != nil || source.FC != nil || source.ISCSI != nil || source.RBD != nil ||
		source.GitRepo != nil ||
		source.FlexVolume != nil || source.Flocker != nil || source.PhotonPersistentDisk != nil ||
		source.PortworxVolume != nil ||
		source.Quobyte != nil || source.ScaleIO != nil || source.StorageOS != nil
}

// isOfAPI lists the volume types that [volumeReference] has a text for.
func isOfAPI(source *corev1.VolumeSource) bool {
	return source.ConfigMap != nil || source.Secret != nil || source.CSI != nil || source.Glusterfs != nil ||
		source.PersistentVolumeClaim != nil || source.Ephemeral != nil || source.AzureFile != nil || source.Projected != nil
}

// volumeReference returns upstream's text for the API object that a volume needs. For an unknown
// volume type, it returns a problem instead.
func volumeReference(volume *corev1.Volume) (noun, problem string) {
	switch {
	case volume.ConfigMap != nil:
		return "configmaps (via configmap volumes)", ""
	case volume.Secret != nil:
		return "secrets (via secret volumes)", ""
	case volume.CSI != nil:
		return "csidrivers (via CSI volumes)", ""
	case volume.Glusterfs != nil:
		return "endpoints (via glusterFS volumes)", ""
	case volume.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims", ""
	case volume.Ephemeral != nil:
		return "persistentvolumeclaims (via ephemeral volumes)", ""
	case volume.AzureFile != nil:
		return "secrets (via azureFile volumes)", ""
	case volume.Projected != nil:
		return projectedReference(volume)
	default:
		return "", fmt.Sprintf("unknown volume type for volume  %q", volume.Name)
	}
}

func projectedReference(volume *corev1.Volume) (noun, problem string) {
	for i := range volume.Projected.Sources {
		source := &volume.Projected.Sources[i]
		switch {
		case source.ConfigMap != nil:
			return "configmaps (via projected volumes)", ""
		case source.Secret != nil:
			return "secrets (via projected volumes)", ""
		case source.ServiceAccountToken != nil:
			return "serviceaccounts (via projected volumes)", ""
		case source.ClusterTrustBundle != nil:
			return "clustertrustbundles", ""
		case source.PodCertificate != nil:
			return "podcertificates", ""
		case source.DownwardAPI == nil || *source != corev1.VolumeProjection{DownwardAPI: source.DownwardAPI}:
			return "", fmt.Sprintf("unknown source for projected volume %q", volume.Name)
		}
	}
	return "", ""
}

// volumeNames reports the kinds of objects that a volume names. [volumeReference] reports the
// objects that a volume needs without naming them. volumeNames checks all types of a volume, so
// that one type cannot hide the name in another. The API server itself denies a volume of several
// types.
func volumeNames(source *corev1.VolumeSource) (secrets, configMaps bool) {
	secrets = namesSecret(source)
	configMaps = source.ConfigMap != nil && source.ConfigMap.Name != ""
	if source.Projected == nil {
		return secrets, configMaps
	}
	for i := range source.Projected.Sources {
		projected := &source.Projected.Sources[i]
		secrets = secrets || projected.Secret != nil && projected.Secret.Name != ""
		configMaps = configMaps || projected.ConfigMap != nil && projected.ConfigMap.Name != ""
	}
	return secrets, configMaps
}

// namesSecret reports whether the volume is a secret, or names a secret for its driver.
func namesSecret(source *corev1.VolumeSource) bool {
	return source.Secret != nil && source.Secret.SecretName != "" ||
		source.AzureFile != nil && source.AzureFile.SecretName != "" ||
		source.CephFS != nil && isNamed(source.CephFS.SecretRef) ||
		source.Cinder != nil && isNamed(source.Cinder.SecretRef) ||
		source.FlexVolume != nil && isNamed(source.FlexVolume.SecretRef) ||
		source.RBD != nil && isNamed(source.RBD.SecretRef) ||
		source.ScaleIO != nil && isNamed(source.ScaleIO.SecretRef) ||
		source.ISCSI != nil && isNamed(source.ISCSI.SecretRef) ||
		source.StorageOS != nil && isNamed(source.StorageOS.SecretRef) ||
		source.CSI != nil && isNamed(source.CSI.NodePublishSecretRef)
}

// isNamed returns false for a reference without a name. Upstream ignores such a reference.
func isNamed(reference *corev1.LocalObjectReference) bool {
	return reference != nil && reference.Name != ""
}

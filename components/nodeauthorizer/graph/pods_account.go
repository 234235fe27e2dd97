// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import corev1 "k8s.io/api/core/v1"

// accountMarks says for what of its account a pod with these volumes has no use.
//
// A kubelet requests tokens for projected volumes that ask for one, and for CSI
// drivers that do (CSIDriver.spec.tokenRequests). The graph does not know the
// drivers, and not which of them is behind a claim, so every pod with such a
// volume counts, and so does one with a volume of a plugin that the kubelet
// replaces by a driver (pkg/volume/csimigration/plugin_manager.go). It reads the account itself,
// for its UID, only to request a
// certificate for the pod (KEP-4317).
//
// What the kubelet's credential providers need is a setting of the kubelet and
// not of the pod: [Options].CredentialProviders.
func accountMarks(volumes []corev1.Volume) marks {
	useless := unreadable | tokenless
	for i := range volumes {
		switch source := &volumes[i].VolumeSource; {
		case source.Projected != nil:
			useless &^= usedBy(source.Projected.Sources)
		case source.CSI != nil, source.PersistentVolumeClaim != nil, source.Ephemeral != nil, isMigrated(source):
			useless &^= tokenless
		}
	}
	return useless
}

// isMigrated reports whether a CSI driver mounts what the pod asks an old plugin
// for.
func isMigrated(source *corev1.VolumeSource) bool {
	return source.AWSElasticBlockStore != nil || source.AzureDisk != nil || source.AzureFile != nil ||
		source.Cinder != nil ||
		source.GCEPersistentDisk != nil || source.PortworxVolume != nil || source.VsphereVolume != nil
}

func usedBy(sources []corev1.VolumeProjection) marks {
	var used marks
	for i := range sources {
		if sources[i].ServiceAccountToken != nil {
			used |= tokenless
		}
		if sources[i].PodCertificate != nil {
			used |= unreadable
		}
	}
	return used
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// makeStorage creates claims, volumes and drivers. Some of the references between them are missing.
func (m *Generator) makeStorage() {
	w := m.Cluster
	for _, namespace := range namespaces {
		for _, name := range claimNames {
			if !m.OneIn(5) {
				claim := &corev1.PersistentVolumeClaim{ObjectMeta: m.meta(namespace, name)}
				if !m.OneIn(6) {
					claim.Spec.VolumeName = harness.Pick(m.RNG, volumeNames)
				}
				w.Claims = append(w.Claims, claim)
			}
		}
	}
	for _, name := range volumeNames {
		if !m.OneIn(8) {
			w.Volumes = append(
				w.Volumes,
				&corev1.PersistentVolume{ObjectMeta: m.meta("", name), Spec: corev1.PersistentVolumeSpec{
					PersistentVolumeSource: m.persistentVolumeSource(),
				}},
			)
		}
	}
	for _, name := range driverNames {
		if !m.OneIn(4) {
			w.Drivers = append(w.Drivers, m.driver(name))
		}
	}
}

func (m *Generator) driver(name string) *storagev1.CSIDriver {
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for range m.IntN(3) {
		driver.Spec.TokenRequests = append(driver.Spec.TokenRequests, storagev1.TokenRequest{Audience: m.audience()})
	}
	return driver
}

// audience returns an audience that a pod, a driver or a request names. The API server's own is
// often left out.
func (m *Generator) audience() string {
	if m.OneIn(4) {
		return ""
	}
	return harness.Pick(m.RNG, audiences)
}

// persistentVolumeSource returns a CSI source, an in-tree source that has migrated to CSI, possibly
// malformed, or another source.
func (m *Generator) persistentVolumeSource() corev1.PersistentVolumeSource {
	switch m.IntN(12) {
	case 0:
		return corev1.PersistentVolumeSource{
			AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: m.volumeID()},
		}
	case 1:
		return corev1.PersistentVolumeSource{
			AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d", DataDiskURI: m.volumeID()},
		}
	case 2:
		source := &corev1.AzureFilePersistentVolumeSource{SecretName: m.volumeID(), ShareName: "s"}
		if m.OneIn(2) {
			namespace := "ns1"
			source.SecretNamespace = &namespace
		}
		return corev1.PersistentVolumeSource{AzureFile: source}
	case 3:
		return corev1.PersistentVolumeSource{
			GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: m.volumeID()},
		}
	case 4:
		return corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: m.volumeID()}}
	case 5:
		return corev1.PersistentVolumeSource{
			VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: m.volumeID()},
		}
	case 6:
		return corev1.PersistentVolumeSource{PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: m.volumeID()}}
	case 7:
		return corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}
	case 8:
		return corev1.PersistentVolumeSource{}
	default:
		return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: m.driverName()}}
	}
}

func (m *Generator) volumeID() string {
	return harness.Pick(
		m.RNG,
		[]string{"vol-1", "", "aws://zone/vol-1", "aws:///x/y", "aws://", "azure-storage-account-x-secret"},
	)
}

func (m *Generator) driverName() string {
	if m.OneIn(10) {
		return ""
	}
	return harness.Pick(m.RNG, driverNames[:4])
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The kubelet mounts these volumes through CSI drivers, which may need tokens of the pod.
func TestMigratedVolumesNeedTokens(t *testing.T) {
	for name, source := range map[string]corev1.VolumeSource{
		"awsElasticBlockStore": {AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "v"}},
		"azureDisk":            {AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "v"}},
		"azureFile":            {AzureFile: &corev1.AzureFileVolumeSource{SecretName: "s", ShareName: "v"}},
		"cinder":               {Cinder: &corev1.CinderVolumeSource{VolumeID: "v"}},
		"gcePersistentDisk":    {GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "v"}},
		"portworxVolume":       {PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: "v"}},
		"vsphereVolume":        {VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "v"}},
	} {
		g := New(Options{Unusable: rules.Enforce})
		pod := podOn("n1", "p", corev1.Volume{Name: "v", VolumeSource: source})
		pod.Spec.ServiceAccountName = "sa"
		g.SetPod(pod)
		if !g.Reaches("n1", ServiceAccountToken, pod.Namespace, "sa") {
			t.Errorf("%s: no token", name)
		}
		pod.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		g.SetPod(pod)
		if g.Reaches("n1", ServiceAccountToken, pod.Namespace, "sa") {
			t.Errorf("a token for an emptyDir in place of %s", name)
		}
	}
}

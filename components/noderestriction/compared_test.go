// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// TestComparedFieldByField fails when Kubernetes adds a field to a type that is
// compared by hand, so that somebody compares it as well.
func TestComparedFieldByField(t *testing.T) {
	for _, tc := range []struct {
		of   reflect.Type
		want []string
	}{
		{reflect.TypeFor[corev1.PodExtendedResourceClaimStatus](), []string{"RequestMappings", "ResourceClaimName"}},
		{reflect.TypeFor[corev1.NodeAllocatableResourceClaimStatus](),
			[]string{"ResourceClaimName", "Containers", "Mapping", "Overhead"}},
		{reflect.TypeFor[corev1.NodeAllocatableMappedResources](), []string{"Name", "Quantity"}},
		{reflect.TypeFor[corev1.NodeAllocatableOverheadResources](), []string{"Name", "PerPod", "PerContainer"}},
		{reflect.TypeFor[corev1.VolumeResourceRequirements](), []string{"Limits", "Requests"}},
		{reflect.TypeFor[corev1.VolumeSource](), []string{
			"HostPath", "EmptyDir", "GCEPersistentDisk", "AWSElasticBlockStore", "GitRepo", "Secret", "NFS", "ISCSI",
			"Glusterfs",
			"PersistentVolumeClaim", "RBD", "FlexVolume", "Cinder", "CephFS", "Flocker", "DownwardAPI", "FC", "AzureFile",
			"ConfigMap",
			"VsphereVolume", "Quobyte", "AzureDisk", "PhotonPersistentDisk", "Projected", "PortworxVolume", "ScaleIO",
			"StorageOS", "CSI",
			"Ephemeral", "Image",
		}},
		{reflect.TypeFor[storagev1.CSINodeSpec](), []string{"Drivers"}},
		{reflect.TypeFor[storagev1.CSINodeDriver](), []string{"Name", "NodeID", "TopologyKeys", "Allocatable"}},
		{reflect.TypeFor[storagev1.VolumeNodeResources](), []string{"Count"}},
	} {
		var got []string
		for i := range tc.of.NumField() {
			got = append(got, tc.of.Field(i).Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-compared +there are):\n%s", tc.of, diff)
		}
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestVolumeReferences(t *testing.T) {
	own := &corev1.SecretReference{Namespace: "own", Name: "s"}
	bare := &corev1.SecretReference{Name: "s"}
	inOwn, inClaims, inNone := []identity{{"own", "s"}}, []identity{{"claims", "s"}}, []identity{{"", "s"}}
	for _, row := range []struct {
		name   string
		source corev1.PersistentVolumeSource
		want   []identity
	}{
		{"local volume: no references", corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}, nil},
		{"AzureFile's namespace",
			corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s",
				SecretNamespace: ptr.To("own")}}, inOwn},
		{"the claim's for an AzureFile without one",
			corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s"}}, inClaims},
		{"the claim's for an AzureFile with an empty one",
			corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s",
				SecretNamespace: ptr.To("")}}, inClaims},
		{"AzureFile without a secret: no references",
			corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretNamespace: ptr.To("own")}},
			nil},
		{"CephFS's namespace", corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{SecretRef: own}},
			inOwn},
		{"the claim's for CephFS",
			corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{SecretRef: bare}}, inClaims},
		{"CephFS without a secret: no references",
			corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{}},
			nil},
		{"Cinder's namespace", corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{SecretRef: own}},
			inOwn},
		{"no fallback for Cinder",
			corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{SecretRef: bare}}, inNone},
		{"FlexVolume's namespace",
			corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{SecretRef: own}}, inOwn},
		{"the claim's for FlexVolume",
			corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{SecretRef: bare}}, inClaims},
		{"RBD's namespace", corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{SecretRef: own}}, inOwn},
		{"the claim's for RBD", corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{SecretRef: bare}},
			inClaims},
		{"ScaleIO's namespace", corev1.PersistentVolumeSource{ScaleIO: &corev1.ScaleIOPersistentVolumeSource{SecretRef: own}},
			inOwn},
		{"the claim's for ScaleIO",
			corev1.PersistentVolumeSource{ScaleIO: &corev1.ScaleIOPersistentVolumeSource{SecretRef: bare}}, inClaims},
		{"ISCSI's namespace", corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{SecretRef: own}},
			inOwn},
		{"the claim's for ISCSI", corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{SecretRef: bare}},
			inClaims},
		{"StorageOS's namespace",
			corev1.PersistentVolumeSource{StorageOS: &corev1.StorageOSPersistentVolumeSource{
				SecretRef: &corev1.ObjectReference{Namespace: "own", Name: "s"}}}, inOwn},
		{"no fallback for StorageOS",
			corev1.PersistentVolumeSource{StorageOS: &corev1.StorageOSPersistentVolumeSource{
				SecretRef: &corev1.ObjectReference{Name: "s"}}}, inNone},
		{"StorageOS without a secret: no references",
			corev1.PersistentVolumeSource{StorageOS: &corev1.StorageOSPersistentVolumeSource{}}, nil},
		{"CSI's secrets that a kubelet needs", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
			NodePublishSecretRef: &corev1.SecretReference{Namespace: "own", Name: "publish"},
			NodeStageSecretRef:   &corev1.SecretReference{Namespace: "own", Name: "stage"},
			NodeExpandSecretRef:  &corev1.SecretReference{Namespace: "own", Name: "expand"},
		}}, []identity{{"own", "publish"}, {"own", "stage"}, {"own", "expand"}}},
		{"not CSI's secrets of the controller", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
			ControllerPublishSecretRef: own, ControllerExpandSecretRef: own,
		}}, nil},
		{"no fallback for CSI",
			corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{NodeStageSecretRef: bare}}, inNone},
	} {
		t.Run(row.name, func(t *testing.T) {
			volume := &corev1.PersistentVolume{}
			volume.Spec.PersistentVolumeSource = row.source
			volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "claims", Name: "pvc"}
			got := volumeReferences(volume, nil)
			if diff := gocmp.Diff(row.want, got, gocmp.AllowUnexported(identity{})); diff != "" {
				t.Errorf("volumeReferences (-want +got):\n%s", diff)
			}
		})
	}
}

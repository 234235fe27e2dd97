// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func local(name string) *corev1.LocalObjectReference {
	return &corev1.LocalObjectReference{Name: name}
}

func withVolume(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "vol", VolumeSource: source})
	}
}

func withProjected(sources ...corev1.VolumeProjection) func(*corev1.Pod) {
	return withVolume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}})
}

func withEnv(env ...corev1.EnvVar) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers = []corev1.Container{{Env: env}} }
}

func secretKey(name string) corev1.EnvVar {
	return corev1.EnvVar{ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: *local(name)}}}
}

func configMapKey(name string) corev1.EnvVar {
	return corev1.EnvVar{ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: *local(name)}}}
}

func fromSecret(name string) []corev1.EnvFromSource {
	return []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: *local(name)}}}
}

func fromConfigMap(name string) []corev1.EnvFromSource {
	return []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: *local(name)}}}
}

func withClaim(claim corev1.PodResourceClaim, statuses ...corev1.PodResourceClaimStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{claim}
		pod.Status.ResourceClaimStatuses = statuses
	}
}

func refsTo(kind Kind, names ...string) references {
	var refs references
	for _, name := range names {
		refs.add(kind, name)
	}
	return refs
}

type podRow struct {
	name  string
	tweak func(*corev1.Pod)
	want  references
}

func podRows() []podRow {
	return slices.Concat(podFieldRows(), podVolumeRows(), podClaimRows())
}

func podFieldRows() []podRow {
	return []podRow{
		{"pod without volumes: no references", func(*corev1.Pod) {}, nil},
		{"its service account", func(pod *corev1.Pod) { pod.Spec.ServiceAccountName = "sa" },
			references{{ServiceAccount, unreadable | tokenless, "sa"}}},
		{"not the deprecated spelling of the account", func(pod *corev1.Pod) { pod.Spec.DeprecatedServiceAccount = "sa" },
			nil},
		{"each pull secret", func(pod *corev1.Pod) {
			pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "a"}, {Name: ""}, {Name: "b"}}
		}, refsTo(Secret, "a", "b")},
		{"a secret in a variable", withEnv(secretKey("s")), refsTo(Secret, "s")},
		{"a configmap in a variable", withEnv(configMapKey("c")), refsTo(ConfigMap, "c")},
		{"an optional secret as well", withEnv(corev1.EnvVar{ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: *local("s"), Optional: ptr.To(true)}}}),
			refsTo(Secret, "s")},
		{"no literal value", withEnv(corev1.EnvVar{Name: "a", Value: "s"}), nil},
		{"no field reference", withEnv(corev1.EnvVar{ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}), nil},
		{"a secret as environment", func(pod *corev1.Pod) {
			pod.Spec.Containers = []corev1.Container{{EnvFrom: fromSecret("s")}}
		}, refsTo(Secret, "s")},
		{"a configmap as environment", func(pod *corev1.Pod) {
			pod.Spec.Containers = []corev1.Container{{EnvFrom: fromConfigMap("c")}}
		}, refsTo(ConfigMap, "c")},
		{"references of init containers", func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{EnvFrom: fromSecret("s"), Env: []corev1.EnvVar{secretKey("t")}}}
		}, refsTo(Secret, "s", "t")},
		{"references of ephemeral containers", func(pod *corev1.Pod) {
			pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
				EphemeralContainerCommon: corev1.EphemeralContainerCommon{
					EnvFrom: fromConfigMap("c"), Env: []corev1.EnvVar{configMapKey("d")}}}}
		}, refsTo(ConfigMap, "c", "d")},
		{"mirror pod: no references", func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: ""}
			pod.Spec.ServiceAccountName = "sa"
			withVolume(secretVolume("s").VolumeSource)(pod)
			withClaim(corev1.PodResourceClaim{ResourceClaimName: ptr.To("rc")})(pod)
		}, nil},
		{"everything by a pod with another annotation", func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey + "2": ""}
			pod.Spec.ServiceAccountName = "sa"
		}, references{{ServiceAccount, unreadable | tokenless, "sa"}}},
	}
}

func podVolumeRows() []podRow {
	return []podRow{
		{"no empty directory", withVolume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), nil},
		{"a secret volume", withVolume(secretVolume("s").VolumeSource), refsTo(Secret, "s")},
		{"a configmap volume", withVolume(configMapVolume("c").VolumeSource), refsTo(ConfigMap, "c")},
		{"a projected secret and configmap", withProjected(
			corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: *local("s")}},
			corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: *local("c")}},
		), slices.Concat(refsTo(Secret, "s"), refsTo(ConfigMap, "c"))},
		{"no other projection", withProjected(
			corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}},
			corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: ptr.To("b")}},
			corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{SignerName: "example.com/s"}},
		), nil},
		{"a claim", withVolume(claimVolume("pvc").VolumeSource), refsTo(PersistentVolumeClaim, "pvc")},
		{"the claim made for an ephemeral volume",
			withVolume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}),
			references{{PersistentVolumeClaim, unowned, "pod-vol"}}},
		{"the secret of a CSI volume",
			withVolume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{NodePublishSecretRef: local("s")}}),
			refsTo(Secret, "s")},
		{"CSI volume without a secret: no references", withVolume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}}), nil},
		{"the secret of AzureFile",
			withVolume(corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "s"}}), refsTo(Secret, "s")},
		{"the secret of CephFS", withVolume(corev1.VolumeSource{CephFS: &corev1.CephFSVolumeSource{SecretRef: local("s")}}),
			refsTo(Secret, "s")},
		{"the secret of Cinder", withVolume(corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{SecretRef: local("s")}}),
			refsTo(Secret, "s")},
		{"the secret of FlexVolume",
			withVolume(corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{SecretRef: local("s")}}), refsTo(Secret, "s")},
		{"the secret of RBD", withVolume(corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{SecretRef: local("s")}}),
			refsTo(Secret, "s")},
		{"the secret of ScaleIO",
			withVolume(corev1.VolumeSource{ScaleIO: &corev1.ScaleIOVolumeSource{SecretRef: local("s")}}), refsTo(Secret, "s")},
		{"the secret of ISCSI", withVolume(corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{SecretRef: local("s")}}),
			refsTo(Secret, "s")},
		{"the secret of StorageOS",
			withVolume(corev1.VolumeSource{StorageOS: &corev1.StorageOSVolumeSource{SecretRef: local("s")}}),
			refsTo(Secret, "s")},
		{"no endpoints of Glusterfs",
			withVolume(corev1.VolumeSource{Glusterfs: &corev1.GlusterfsVolumeSource{EndpointsName: "e"}}), nil},
	}
}

func podClaimRows() []podRow {
	template := corev1.PodResourceClaim{Name: "gpu", ResourceClaimTemplateName: ptr.To("template")}
	return []podRow{
		{"a named resource claim", withClaim(corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: ptr.To("rc")}),
			refsTo(ResourceClaim, "rc")},
		{"no resource claim by the name of its template", withClaim(template), nil},
		{"the claim made from a template", withClaim(template,
			corev1.PodResourceClaimStatus{Name: "other", ResourceClaimName: ptr.To("no")},
			corev1.PodResourceClaimStatus{Name: "gpu", ResourceClaimName: ptr.To("made")}), refsTo(ResourceClaim, "made")},
		{"no claim needed: no references", withClaim(template, corev1.PodResourceClaimStatus{Name: "gpu"}), nil},
		{"no claim that only the status has", withClaim(corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: ptr.To("rc")},
			corev1.PodResourceClaimStatus{Name: "gpu", ResourceClaimName: ptr.To("made")}), refsTo(ResourceClaim, "rc")},
		{"the claim made for extended resources", func(pod *corev1.Pod) {
			pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "rc"}
		}, refsTo(ResourceClaim, "rc")},
		{"empty extended status: no references", func(pod *corev1.Pod) {
			pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{}
		}, nil},
	}
}

func TestPodReferences(t *testing.T) {
	for _, row := range podRows() {
		t.Run(row.name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Name = "pod"
			row.tweak(pod)
			got := podReferences(pod, nil)
			if diff := gocmp.Diff(row.want, got, gocmp.AllowUnexported(reference{})); diff != "" {
				t.Errorf("podReferences (-want +got):\n%s", diff)
			}
		})
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// scope-sync reads annotations and metrics, creates events, and writes one object.
func TestScopeSyncMayOnlyReadAndReport(t *testing.T) {
	want := []rbacv1.PolicyRule{
		{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts"}},
		{Verbs: []string{"list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		{Verbs: []string{"create", "patch"}, APIGroups: []string{""}, Resources: []string{"events"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}},
	}
	if diff := cmp.Diff(want, decode[*rbacv1.ClusterRole](t, "scope-sync/clusterrole.yaml").Rules); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	record := decode[*corev1.ConfigMap](t, "scope-sync/configmap.yaml")
	role := decode[*rbacv1.Role](t, "scope-sync/role.yaml")
	rules := []rbacv1.PolicyRule{{Verbs: []string{"get", "patch"}, APIGroups: []string{""},
		Resources: []string{"configmaps"}, ResourceNames: []string{record.Name}}}
	if diff := cmp.Diff(rules, role.Rules); diff != "" || role.Namespace != record.Namespace || len(record.Data) > 0 {
		t.Errorf("in %s, for %s: (-want +got)\n%s", role.Namespace, record.Namespace, diff)
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "bulkhead:scope-sync"}}
	binding, local := decode[*rbacv1.ClusterRoleBinding](t, "scope-sync/clusterrolebinding.yaml"),
		decode[*rbacv1.RoleBinding](t, "scope-sync/rolebinding.yaml")
	if diff := cmp.Diff(subjects, binding.Subjects) + cmp.Diff(subjects, local.Subjects); diff != "" ||
		binding.RoleRef.Name != "bulkhead:scope-sync" || local.RoleRef.Name != role.Name {
		t.Errorf("subjects (-want +got)\n%s", diff)
	}
}

// scope-sync can write the API server's files. So it has no port, and no client can send it a
// request.
func TestScopeSyncIsConfined(t *testing.T) {
	pod := decode[*corev1.Pod](t, ScopeSyncStaticPod)
	container := pod.Spec.Containers[0]
	security := container.SecurityContext
	if *security.AllowPrivilegeEscalation || !*security.ReadOnlyRootFilesystem || len(security.Capabilities.Add) > 0 ||
		cmp.Diff([]corev1.Capability{"ALL"}, security.Capabilities.Drop) != "" ||
		*pod.Spec.AutomountServiceAccountToken ||
		pod.Spec.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("it may %+v", security)
	}
	if len(container.Ports) > 0 || len(pod.Spec.Containers) != 1 {
		t.Errorf("it has ports %v", container.Ports)
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
		if probe.Exec == nil || probe.Exec.Command[0] != container.Command[0] {
			t.Errorf("it is asked by %+v", probe.ProbeHandler)
		}
	}
	mounts := map[string]bool{}
	for _, mount := range container.VolumeMounts {
		mounts[mount.MountPath] = mount.ReadOnly
	}
	const state = "/etc/kubernetes/bulkhead/"
	if diff := cmp.Diff(map[string]bool{state + "scope-sync": true, state + "apiserver": false, "/run/scope-sync": false},
		mounts); diff != "" {
		t.Errorf("read-only mounts (-want +got)\n%s", diff)
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.HostPath != nil && *volume.HostPath.Type != corev1.HostPathDirectory {
			t.Errorf("%s is mounted as %s", volume.HostPath.Path, *volume.HostPath.Type)
		}
	}
}

// Only scope-sync and certificate-rotator can write the API server's files. Other static pods do
// not mount the directory.
func TestOtherStaticPodsDoNotMountTheAPIServersFiles(t *testing.T) {
	for _, file := range []string{NodeAuthorizerStaticPod, NodeRestrictionStaticPod, KubeletApproverStaticPod} {
		for _, volume := range decode[*corev1.Pod](t, file).Spec.Volumes {
			if volume.HostPath != nil && volume.HostPath.Path == "/etc/kubernetes/bulkhead/apiserver" {
				t.Errorf("%s mounts it", file)
			}
		}
	}
}

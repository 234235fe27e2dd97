// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

const kubeletAuthProxy = "bulkhead-kubelet-auth-proxy"

// The proxy creates token reviews and subject access reviews, and has no other right.
func TestKubeletAuthProxyMayOnlyCreateReviews(t *testing.T) {
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
	}
	if diff := cmp.Diff(want, decode[*rbacv1.ClusterRole](t, "kubelet-auth-proxy/clusterrole.yaml").Rules); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	account := decode[*corev1.ServiceAccount](t, "kubelet-auth-proxy/serviceaccount.yaml")
	binding := decode[*rbacv1.ClusterRoleBinding](t, "kubelet-auth-proxy/clusterrolebinding.yaml")
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: kubeletAuthProxy, Namespace: "kube-system"}}
	if diff := cmp.Diff(subjects, binding.Subjects); diff != "" || account.Name != kubeletAuthProxy ||
		account.Namespace != "kube-system" {
		t.Errorf("account %s/%s: (-want +got)\n%s", account.Namespace, account.Name, diff)
	}
}

// The proxy has an unprivileged user. It reads one directory of the host, and writes to one
// subdirectory of it.
func TestKubeletAuthProxyIsConfined(t *testing.T) {
	pod := decode[*appsv1.DaemonSet](t, "kubelet-auth-proxy/daemonset.yaml").Spec.Template.Spec
	container := pod.Containers[0]
	hostPaths, configMaps := map[string]corev1.HostPathType{}, map[string]bool{}
	for _, volume := range pod.Volumes {
		if volume.ConfigMap != nil {
			configMaps[volume.ConfigMap.Name] = ptr.Deref(volume.ConfigMap.Optional, false)
			continue
		}
		hostPaths[volume.HostPath.Path] = ptr.Deref(volume.HostPath.Type, "")
	}
	var writable []string
	for _, mount := range container.VolumeMounts {
		if !mount.ReadOnly {
			writable = append(writable, mount.Name)
		}
	}
	type confinement struct {
		Containers                           int
		HostNetwork, HostPID, HostIPC        bool
		NonRoot                              bool
		User, Group                          int64
		ReadOnlyRoot, Escalation, Privileged bool
		Added, Dropped                       []corev1.Capability
		Seccomp                              corev1.SeccompProfileType
		HostPaths                            map[string]corev1.HostPathType
		OptionalConfigMaps                   map[string]bool
		Writable                             []string
		Priority, Account                    string
		Tolerations                          []corev1.Toleration
	}
	got := confinement{
		len(pod.Containers) + len(pod.InitContainers), pod.HostNetwork, pod.HostPID, pod.HostIPC,
		*pod.SecurityContext.RunAsNonRoot, *pod.SecurityContext.RunAsUser, *pod.SecurityContext.RunAsGroup,
		*container.SecurityContext.ReadOnlyRootFilesystem, *container.SecurityContext.AllowPrivilegeEscalation,
		container.SecurityContext.Privileged != nil,
		container.SecurityContext.Capabilities.Add, container.SecurityContext.Capabilities.Drop,
		pod.SecurityContext.SeccompProfile.Type, hostPaths, configMaps, writable, pod.PriorityClassName,
		pod.ServiceAccountName, pod.Tolerations,
	}
	want := confinement{
		1, true, false, false, true, 65532, 65532, true, false, false, nil, []corev1.Capability{"ALL"},
		corev1.SeccompProfileTypeRuntimeDefault,
		map[string]corev1.HostPathType{
			// On a node that is not guarded, the proxy is idle and the directories are empty.
			"/etc/kubernetes/bulkhead/kubelet-auth-proxy":           corev1.HostPathDirectoryOrCreate,
			"/etc/kubernetes/bulkhead/kubelet-auth-proxy/crl-state": corev1.HostPathDirectoryOrCreate,
		},
		map[string]bool{revocationlist.Name: true}, []string{"crl-state"}, "system-node-critical", kubeletAuthProxy,
		[]corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		if probe.HTTPGet.Host != "127.0.0.1" || probe.HTTPGet.Port.IntValue() != 10466 {
			t.Errorf("probe of %s asks %s:%s", probe.HTTPGet.Path, probe.HTTPGet.Host, probe.HTTPGet.Port.String())
		}
	}
}

// An update replaces the proxy on one node at a time. The selector matches the pods.
func TestKubeletAuthProxyIsUpdatedNodeByNode(t *testing.T) {
	set := decode[*appsv1.DaemonSet](t, "kubelet-auth-proxy/daemonset.yaml")
	update := set.Spec.UpdateStrategy.RollingUpdate
	if update == nil || update.MaxUnavailable.IntValue() != 1 || update.MaxSurge != nil {
		t.Errorf("update strategy %+v", set.Spec.UpdateStrategy)
	}
	for key, value := range set.Spec.Selector.MatchLabels {
		if set.Spec.Template.Labels[key] != value {
			t.Errorf("label %s is %q, want %q", key, set.Spec.Template.Labels[key], value)
		}
	}
	if set.Name != kubeletAuthProxy || set.Namespace != "kube-system" {
		t.Errorf("named %s/%s", set.Namespace, set.Name)
	}
}

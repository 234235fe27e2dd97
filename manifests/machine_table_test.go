// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

const machineTable = "bulkhead-machine-table-controller"

// The controller reads and patches Nodes, and has no other right.
func TestMachineTableControllerMayOnlyPatchNodes(t *testing.T) {
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"},
		Verbs: []string{"list", "watch", "patch"}}}
	if diff := cmp.Diff(want, decode[*rbacv1.ClusterRole](t, "machine-table/clusterrole.yaml").Rules); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	account := decode[*corev1.ServiceAccount](t, "machine-table/serviceaccount.yaml")
	binding := decode[*rbacv1.ClusterRoleBinding](t, "machine-table/clusterrolebinding.yaml")
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: machineTable, Namespace: "kube-system"}}
	if diff := cmp.Diff(subjects, binding.Subjects); diff != "" || account.Name != machineTable ||
		account.Namespace != "kube-system" || *account.AutomountServiceAccountToken {
		t.Errorf("account %s/%s: (-want +got)\n%s", account.Namespace, account.Name, diff)
	}
}

// The controller has an unprivileged user, and reads nothing of the host. Its token, which may patch
// every Node, is on control-plane nodes only.
func TestMachineTableControllerIsConfined(t *testing.T) {
	deployment := decode[*appsv1.Deployment](t, "machine-table/deployment.yaml")
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]
	context := container.SecurityContext
	if len(pod.Containers)+len(pod.InitContainers) != 1 || pod.HostPID || pod.HostIPC ||
		!*pod.SecurityContext.RunAsNonRoot || *pod.SecurityContext.RunAsUser != 65532 ||
		pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
		!*context.ReadOnlyRootFilesystem || *context.AllowPrivilegeEscalation || context.Privileged != nil {
		t.Errorf("pod %+v, container %+v", pod.SecurityContext, context)
	}
	if diff := cmp.Diff(&corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, context.Capabilities); diff != "" {
		t.Errorf("capabilities (-want +got)\n%s", diff)
	}
	volumes := []corev1.Volume{{Name: "machine-table", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{
			Name: "bulkhead-machine-table"}}}}}
	if diff := cmp.Diff(volumes, pod.Volumes); diff != "" || !container.VolumeMounts[0].ReadOnly {
		t.Errorf("volumes (-want +got)\n%s", diff)
	}
	node := map[string]string{"node-role.kubernetes.io/control-plane": ""}
	if diff := cmp.Diff(node, pod.NodeSelector); diff != "" || pod.ServiceAccountName != machineTable {
		t.Errorf("account %s, node selector (-want +got)\n%s", pod.ServiceAccountName, diff)
	}
	for key, value := range deployment.Spec.Selector.MatchLabels {
		if deployment.Spec.Template.Labels[key] != value {
			t.Errorf("label %s is %q, want %q", key, deployment.Spec.Template.Labels[key], value)
		}
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// rights returns the rules of a ClusterRole: a map from "group/resource" to verbs.
func rights(t *testing.T, file string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, rule := range decode[*rbacv1.ClusterRole](t, file).Rules {
		for _, resource := range rule.Resources {
			got[strings.Join(rule.APIGroups, ",")+"/"+resource+strings.Join(rule.ResourceNames, ",")] = strings.Join(rule.Verbs,
				",")
		}
	}
	return got
}

// kubelet-csr-approver approves requests for one signer. It cannot sign or request a certificate.
func TestApproverMayApproveForOneSigner(t *testing.T) {
	want := map[string]string{
		"certificates.k8s.io/certificatesigningrequests":           "get,list,watch",
		"certificates.k8s.io/certificatesigningrequests/approval":  "update",
		"certificates.k8s.io/signerskubernetes.io/kubelet-serving": "approve",
		"/nodes":                        "get,list,watch",
		"networking.k8s.io/ipaddresses": "get",
	}
	if diff := cmp.Diff(want, rights(t, "kubelet-approver/clusterrole.yaml")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// In the namespace default, both components read the addresses of the API servers.
// kubelet-csr-approver also creates events about requests that it does not approve.
func TestRightsInTheNamespaceOfTheAPIServers(t *testing.T) {
	look := rbacv1.PolicyRule{
		Verbs: []string{"get"}, APIGroups: []string{"discovery.k8s.io"},
		Resources: []string{"endpointslices"}, ResourceNames: []string{"kubernetes"},
	}
	tell := rbacv1.PolicyRule{Verbs: []string{"create", "patch"}, APIGroups: []string{""}, Resources: []string{"events"}}
	for _, tt := range []struct {
		role, binding, user string
		rules               []rbacv1.PolicyRule
	}{
		{"kubelet-approver/role.yaml", "kubelet-approver/rolebinding.yaml", "bulkhead:kubelet-approver",
			[]rbacv1.PolicyRule{look, tell}},
		{"node-restriction/role-apiserver.yaml", "node-restriction/rolebinding-apiserver.yaml", "bulkhead:node-restriction",
			[]rbacv1.PolicyRule{look}},
	} {
		role, binding := decode[*rbacv1.Role](t, tt.role), decode[*rbacv1.RoleBinding](t, tt.binding)
		subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: tt.user}}
		if diff := cmp.Diff(tt.rules, role.Rules) + cmp.Diff(subjects, binding.Subjects); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.role, diff)
		}
		if role.Namespace != "default" || binding.Namespace != "default" || binding.RoleRef.Name != role.Name {
			t.Errorf("%s in %s, bound to %s in %s", role.Name, role.Namespace, binding.RoleRef.Name, binding.Namespace)
		}
	}
}

func TestKubeletClientsHaveOnlyRightsAtKubelets(t *testing.T) {
	for file, user := range map[string]string{"apiserver": "kube-apiserver-kubelet-client",
		"proxy": "bulkhead:kubelet-auth-proxy"} {
		for what, verbs := range rights(t, "kubelet-api/"+file+"-clusterrole.yaml") {
			// For some methods the kubelet's verb is empty, so the proxy needs "*".
			if !strings.HasPrefix(what, "/nodes/") || strings.HasSuffix(what, "*") || what == "/nodes/status" ||
				(verbs == "*") != (file == "proxy") {
				t.Errorf("%s: %s %s", file, verbs, what)
			}
		}
		want := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
		if diff := cmp.Diff(want,
			decode[*rbacv1.ClusterRoleBinding](t, "kubelet-api/"+file+"-clusterrolebinding.yaml").Subjects); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// In addition to system:kubelet-api-admin, kube-apiserver gets only rights that nodes/proxy
// included before. The verbs are those of the methods that the kubelet serves.
func TestAPIServerGetsNoNewRights(t *testing.T) {
	want := map[string]string{
		"/nodes/exec": "create", "/nodes/attach": "create", "/nodes/portforward": "create", "/nodes/run": "create",
		"/nodes/containerlogs": "get", "/nodes/debug": "get,update",
	}
	if diff := cmp.Diff(want, rights(t, "kubelet-api/apiserver-clusterrole.yaml")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestApproverIsConfined(t *testing.T) {
	pod := decode[*corev1.Pod](t, KubeletApproverStaticPod)
	container := pod.Spec.Containers[0]
	if len(pod.Spec.Volumes) != 1 || pod.Spec.Volumes[0].HostPath.Path != "/etc/kubernetes/bulkhead/kubelet-approver" ||
		!container.VolumeMounts[0].ReadOnly {
		t.Errorf("it sees %v", pod.Spec.Volumes)
	}
	security := container.SecurityContext
	if !*pod.Spec.SecurityContext.RunAsNonRoot || *security.AllowPrivilegeEscalation ||
		!*security.ReadOnlyRootFilesystem || *pod.Spec.AutomountServiceAccountToken ||
		len(security.Capabilities.Add) > 0 || len(container.Ports) > 0 || len(pod.Spec.Containers) != 1 {
		t.Errorf("it may %+v", security)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
)

// decode reads a rendered pod as the kubelet does. An unknown field is an error.
func decode(t *testing.T, manifest []byte) corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict(manifest, &pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// plainServer is kubeadm's kube-apiserver.
func plainServer(t *testing.T, replace ...string) *apiserver.Manifest {
	t.Helper()
	server, err := apiserver.Parse(
		[]byte(strings.NewReplacer(replace...).Replace(string(read(t, "../apiserver/testdata/kubeadm.yaml")))))
	must(t, err)
	return server
}

func TestStaticPods(t *testing.T) {
	layout := host.DefaultLayout()
	layout.State, layout.KubePKI = "/elsewhere", "/keys"
	o := Options{Profile: Parity, Image: "example.test/b:1",
		Certificates: pki.Policy{Validity: 10 * time.Minute, RenewBefore: 7 * time.Minute}}
	server := plainServer(t, "    - --secure-port=6443\n", "    - --feature-gates=CSIVolumeHealth=true\n")
	for _, tc := range []struct {
		name   string
		render func(Options) ([]byte, error)
		flags  []string
	}{
		{"node-restriction", func(o Options) ([]byte, error) { return nodeRestrictionPod(layout, o, server, true) }, []string{
			"--feature-gates=CSIVolumeHealth=true", "--kubeconfig=/elsewhere/node-restriction/kubeconfig",
			"--api-audiences=https://kubernetes.default.svc.cluster.local",
			"--config=/elsewhere/node-restriction/configuration.yaml", "--beyond-upstream=off"}},
		{"node authorizer", func(o Options) ([]byte, error) { return nodeAuthorizerPod(layout, o, server) },
			[]string{"--feature-gates=CSIVolumeHealth=true", "--mode=compat",
				"--kubeconfig=/elsewhere/node-authorizer/kubeconfig"}},
		{"certs", func(o Options) ([]byte, error) { return certsPod(layout, o) },
			[]string{"--cert-validity=10m0s", "--cert-renew-before=7m0s", "--state-dir=/elsewhere", "--kubernetes-pki=/keys"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data, err := tc.render(o)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(data), "/etc/kubernetes") {
				t.Errorf("a path is not where it should be:\n%s", data)
			}
			pod := decode(t, data)
			c := pod.Spec.Containers[0]
			if c.Image != o.Image {
				t.Errorf("image %s", c.Image)
			}
			for _, flag := range tc.flags {
				if !strings.Contains(strings.Join(c.Command, " ")+" ", flag+" ") {
					t.Errorf("%s is not among %v", flag, c.Command)
				}
			}
			checkConfined(t, pod)
		})
	}
}

// checkConfined checks the security context that every static pod of Bulkhead must have.
func checkConfined(t *testing.T, pod corev1.Pod) {
	t.Helper()
	c := pod.Spec.Containers[0].SecurityContext
	want := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(bool), ReadOnlyRootFilesystem: c.ReadOnlyRootFilesystem,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if diff := cmp.Diff(want, c); diff != "" || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem {
		t.Errorf("it is less confined than promised:\n%s", diff)
	}
	if pod.Spec.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
		pod.Spec.PriorityClassName != "system-node-critical" {
		t.Errorf("seccomp %v, priority %s", pod.Spec.SecurityContext.SeccompProfile, pod.Spec.PriorityClassName)
	}
}

func TestKubeconfig(t *testing.T) {
	data, err := render.Kubeconfig("https://172.18.0.2:6443", host.DefaultLayout().NodeAuthorizer(),
		host.NodeAuthorizerUser)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	context := config.Contexts[config.CurrentContext]
	cluster, user := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
	got := []string{cluster.Server, cluster.CertificateAuthority, user.ClientCertificate, user.ClientKey}
	const dir = "/etc/kubernetes/bulkhead/node-authorizer/"
	want := []string{"https://172.18.0.2:6443", dir + "kube-ca.crt", dir + "client.crt", dir + "client.key"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// objectCount is the number of Bulkhead's API objects with Hardened. bareCount is the number
// without the objects that protect kubelets.
func objectCount(t *testing.T) int {
	t.Helper()
	guard, err := guards()
	must(t, err)
	return bareCount(t) + len(guard)
}

func bareCount(t *testing.T) int {
	t.Helper()
	objects, err := apiObjects()
	must(t, err)
	return len(objects)
}

func TestAPIObjects(t *testing.T) {
	expectObjects(t, apiObjects, []string{
		"ClusterRole bulkhead:node-authorizer", "ClusterRoleBinding bulkhead:node-authorizer",
		"ConfigMap bulkhead-revocations", "Role bulkhead:node-authorizer", "RoleBinding bulkhead:node-authorizer",
		"ClusterRole bulkhead:node-restriction", "ClusterRoleBinding bulkhead:node-restriction",
		"ConfigMap bulkhead-node-restriction", "Role bulkhead:node-restriction:apiserver", "Role bulkhead:node-restriction",
		"RoleBinding bulkhead:node-restriction:apiserver", "RoleBinding bulkhead:node-restriction",
		"FlowSchema bulkhead-components",
	})
	expectObjects(t, guardObjects, []string{
		"ClusterRole bulkhead:kubelet-approver", "ClusterRoleBinding bulkhead:kubelet-approver",
		"Role bulkhead:kubelet-approver", "RoleBinding bulkhead:kubelet-approver",
		"ClusterRole bulkhead:kube-apiserver-kubelet-client", "ClusterRoleBinding bulkhead:kube-apiserver-kubelet-client",
		"ClusterRole bulkhead:kubelet-auth-proxy:kubelet", "ClusterRoleBinding bulkhead:kubelet-auth-proxy:kubelet",
		"FlowSchema bulkhead-kubelet-auth-proxy", "PriorityLevelConfiguration bulkhead-kubelet-auth-proxy",
	})
}

func expectObjects(t *testing.T, read func() ([]*unstructured.Unstructured, error), want []string) {
	t.Helper()
	objects, err := read()
	must(t, err)
	var names []string
	for _, o := range objects {
		names = append(names, o.GetKind()+" "+o.GetName())
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A FlowSchema gets its status after it is written. That is not a change by another user.
func TestObjectComparisonIgnoresStatus(t *testing.T) {
	written := &unstructured.Unstructured{Object: map[string]any{"kind": "FlowSchema",
		"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"b": "c"}}}
	later := written.DeepCopy()
	later.Object["status"] = map[string]any{"conditions": []any{"d"}}
	later.SetResourceVersion("8")
	other := later.DeepCopy()
	other.Object["spec"] = map[string]any{"b": "other"}
	of := func(object *unstructured.Unstructured) string {
		data, err := essence(object)
		must(t, err)
		return string(data)
	}
	if of(written) != of(later) {
		t.Errorf("written %s, later %s", of(written), of(later))
	}
	if of(written) == of(other) {
		t.Errorf("another one is the same: %s", of(other))
	}
}

func TestValidatePolicy(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy pki.Policy
		ok     bool
	}{
		{"90 days and 30 are good", pki.Policy{Validity: 90 * 24 * time.Hour, RenewBefore: 30 * 24 * time.Hour}, true},
		{"ten minutes and seven are good", pki.Policy{Validity: 10 * time.Minute, RenewBefore: 7 * time.Minute}, true},
		{"as long before as it lives is refused", pki.Policy{Validity: time.Hour, RenewBefore: time.Hour}, false},
		{"no renewal time: rejected", pki.Policy{Validity: time.Hour}, false},
		{"less before than kube-apiserver needs to notice is refused",
			pki.Policy{Validity: time.Hour, RenewBefore: 6*time.Minute - time.Second}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := host.ValidatePolicy(tc.policy); (err == nil) != tc.ok {
				t.Errorf("error is %v", err)
			}
		})
	}
}

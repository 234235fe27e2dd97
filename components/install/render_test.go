// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// decode reads a rendered pod as the kubelet does: an unknown field is an error.
func decode(t *testing.T, manifest []byte) corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict(manifest, &pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestStaticPods(t *testing.T) {
	layout := DefaultLayout()
	layout.State, layout.KubePKI = "/elsewhere", "/keys"
	o := Options{Profile: Parity, Image: "example.test/b:1", Certificates: pki.Policy{Validity: 10 * time.Minute, RenewBefore: 7 * time.Minute}}
	for _, tc := range []struct {
		name   string
		render func(Options) ([]byte, error)
		flags  []string
	}{
		{"node authorizer", func(o Options) ([]byte, error) { return layout.nodeAuthorizerPod(o, "CSIVolumeHealth=true") }, []string{"--feature-gates=CSIVolumeHealth=true", "--mode=compat", "--kubeconfig=/elsewhere/node-authorizer/kubeconfig"}},
		{"certs", layout.certsPod, []string{"--cert-validity=10m0s", "--cert-renew-before=7m0s", "--state-dir=/elsewhere", "--kubernetes-pki=/keys"}},
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

// checkConfined holds what every static pod of ours promises.
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
	if pod.Spec.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || pod.Spec.PriorityClassName != "system-node-critical" {
		t.Errorf("seccomp %v, priority %s", pod.Spec.SecurityContext.SeccompProfile, pod.Spec.PriorityClassName)
	}
}

func TestNodeAuthorizerKubeconfig(t *testing.T) {
	data, err := DefaultLayout().nodeAuthorizerKubeconfig("https://172.18.0.2:6443")
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

func TestRBACObjects(t *testing.T) {
	objects, err := rbacObjects()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range objects {
		names = append(names, o.GetKind()+" "+o.GetName())
	}
	want := []string{"ClusterRole bulkhead:node-authorizer", "ClusterRoleBinding bulkhead:node-authorizer"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
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
		{"nothing before is refused", pki.Policy{Validity: time.Hour}, false},
		{"less before than kube-apiserver needs to notice is refused", pki.Policy{Validity: time.Hour, RenewBefore: 6*time.Minute - time.Second}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := ValidatePolicy(tc.policy); (err == nil) != tc.ok {
				t.Errorf("error is %v", err)
			}
		})
	}
}

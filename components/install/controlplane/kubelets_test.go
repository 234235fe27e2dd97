// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// withKubelets returns an installer whose check of the kubelets returns err.
func (h *testHost) withKubelets(err error) *Installer {
	in := h.installer()
	in.Kubelets = func(context.Context) error { return err }
	return in
}

// demands is true if kube-apiserver and kubeadm name the authority of the kubelets.
func (h *testHost) demands() bool {
	h.t.Helper()
	flag := "kubelet-certificate-authority"
	server, err := apiserver.Parse(read(h.t, h.layout.APIServerManifest()))
	must(h.t, err)
	value, _ := server.Arg(flag)
	if (value != "") != strings.Contains(h.kubeadm, flag) {
		h.t.Errorf("the manifest has %q, and kubeadm-config is\n%s", value, h.kubeadm)
	}
	return value == h.layout.KubeCA().CertFile
}

func TestTheServerDemandsCertificatesOfKubeletsThatHaveThem(t *testing.T) {
	away := errors.New("node worker-1: its serving certificate is not from the cluster")
	onHost(t, "one has none, then all have, then one is away", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.withKubelets(away).Install(t.Context(), options(Hardened)))
		for _, want := range []string{"node worker-1", "bulkhead node install", "--kubelet-api=false"} {
			if h.demands() || !strings.Contains(h.out.String(), want) {
				t.Errorf("it demands them, or does not say %q:\n%s", want, &h.out)
			}
		}
		h.out.Reset()
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		if !h.demands() || strings.Contains(h.out.String(), "bulkhead node install") {
			t.Errorf("all have one, and it does not demand it, or asks for more:\n%s", &h.out)
		}
		starts := h.starts
		must(t, h.withKubelets(away).Install(t.Context(), options(Hardened)))
		if !h.demands() || h.starts != starts {
			t.Errorf("a kubelet that is away opens the API server to every other: %d starts more", h.starts-starts)
		}
		must(t, h.withKubelets(nil).Install(t.Context(), options(Parity)))
		if h.demands() {
			t.Error("it demands them in parity")
		}
		must(t, h.installer().Uninstall(t.Context(), options(Parity).Timeout))
		h.mustBe(before)
	})
}

// kubeadm gives the new host the flag of the other hosts, but its own kubelet has no serving certificate
// of the cluster yet. It must not keep the flag, or the logs of its pods would be lost.
func TestHostThatJoinsDemandsCertificatesOnceItsKubeletHasOne(t *testing.T) {
	onHosts(t, "its kubelet has no certificate, then one", 2, func(t *testing.T, all []*testHost) {
		joining := all[1]
		joining.members = joining.members[:1]
		must(t, all[0].on().withKubelets(nil).Install(t.Context(), options(Hardened)))
		if !all[0].demands() {
			t.Fatal("the first host does not demand certificates")
		}
		wired := joining.kubeadm
		joining.on()
		must(t, os.Remove(joining.layout.APIServerManifest()))
		must(t, joining.installer().Prepare(t.Context(), options(Hardened)))
		joining.joinWith(Record{Profile: Hardened, VerifyKubelets: true})
		joining.members = all
		steps := []struct {
			name    string
			kubelet error
			demands bool
		}{
			{"its kubelet has none", errors.New("node cp-2: its serving certificate is not from the cluster"), false},
			{"its kubelet has one", nil, true},
		}
		for _, step := range steps {
			must(t, joining.withKubelets(step.kubelet).Install(t.Context(), options(Hardened)))
			server, err := apiserver.Parse(read(t, joining.layout.APIServerManifest()))
			must(t, err)
			if value, _ := server.Arg("kubelet-certificate-authority"); (value != "") != step.demands {
				t.Errorf("%s: --kubelet-certificate-authority=%s", step.name, value)
			}
			if joining.kubeadm != wired {
				t.Errorf("%s: kubeadm-config is\n%s", step.name, joining.kubeadm)
			}
		}
		joining.allHave()
		must(t, joining.uninstall())
		if same, err := apiserver.Equal(joining.original, read(t, joining.layout.APIServerManifest())); err != nil || !same {
			t.Errorf("after the uninstallation the manifest is (%v):\n%s", err, read(t, joining.layout.APIServerManifest()))
		}
	})
}

func TestAnAuthorityThatWasThereStays(t *testing.T) {
	onHost(t, "another file", func(t *testing.T, h *testHost) {
		const flag = "--kubelet-certificate-authority=/other/ca.crt"
		text := strings.Replace(string(h.original), "    - kube-apiserver\n", "    - kube-apiserver\n    - "+flag+"\n", 1)
		must(t, os.WriteFile(h.layout.APIServerManifest(), []byte(text), 0o600))
		before := h.snapshot()
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		if got := read(t, h.layout.APIServerManifest()); !strings.Contains(string(got), flag) ||
			strings.Count(string(got), "kubelet-certificate-authority") != 1 {
			t.Errorf("it is\n%s", got)
		}
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		h.mustBe(before)
	})
}

func TestNodesOnly(t *testing.T) {
	nodesOnly := options(Hardened)
	nodesOnly.NodesOnly = true
	onHost(t, "and back", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.installer().Install(t.Context(), nodesOnly))
		if h.starts > 1 || h.objects["ClusterRoleBinding/"+kubeletClientRole] == nil {
			t.Errorf("the API server has started %d times; objects are %v", h.starts, h.objects)
		}
		if _, err := os.Stat(h.layout.KubeletApproverManifest()); err != nil {
			t.Error(err)
		}
		must(t, h.installer().Uninstall(t.Context(), nodesOnly.Timeout))
		h.mustBe(before)
	})
	onHost(t, "and the rest later, with one restart", func(t *testing.T, h *testHost) {
		must(t, h.withKubelets(nil).Install(t.Context(), nodesOnly))
		starts := h.starts
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		if !h.demands() || h.starts != starts+1 {
			t.Errorf("it restarted %d times", h.starts-starts)
		}
	})
}

func TestOnlyHardenedApproves(t *testing.T) {
	onHost(t, "hardened, then parity", func(t *testing.T, h *testHost) {
		for _, p := range []Profile{Hardened, Parity} {
			must(t, h.installer().Install(t.Context(), options(p)))
			_, err := os.Stat(h.layout.KubeletApproverManifest())
			if (err == nil) != (p == Hardened) {
				t.Errorf("%s: %v", p, err)
			}
		}
	})
}

func TestKubeletClientUserIsTheCertificateSubject(t *testing.T) {
	for name, cn := range map[string]string{"kubeadm's": "", "another": "apiserver@example.test"} {
		onHost(t, name, func(t *testing.T, h *testHost) {
			want := kubeadmKubeletClient
			if cn != "" {
				want = cn
				rotator := pki.Rotator{Policy: options(Hardened).Certificates, Now: time.Now, Leaves: []pki.Leaf{{
					Name: "client", Pair: host.PairIn(h.layout.KubePKI, "apiserver-kubelet-client"), Signer: h.layout.KubeCA(),
					CommonName: cn, Mode: 0o600,
				}}}
				_, err := rotator.Renew(true)
				must(t, err)
				const flag = "--kubelet-client-certificate=/etc/kubernetes/pki/apiserver-kubelet-client.crt"
				text := strings.Replace(string(h.original), "    - kube-apiserver\n", "    - kube-apiserver\n    - "+flag+"\n", 1)
				must(t, os.WriteFile(h.layout.APIServerManifest(), []byte(text), 0o600))
			}
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			subjects, _, err := unstructured.NestedSlice(h.objects["ClusterRoleBinding/"+kubeletClientRole].Object, "subjects")
			must(t, err)
			if subject, _ := subjects[0].(map[string]any); len(subjects) != 1 || subject["name"] != want {
				t.Errorf("bound are %v, want %s", subjects, want)
			}
		})
	}
}

func TestUninstallKeepsTheKubeletProxy(t *testing.T) {
	onHost(t, "a control-plane host that is a node behind the proxy", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Hardened)))
		key := h.layout.KubeletClientCA()
		must(t, os.MkdirAll(filepath.Dir(key), 0o700))
		must(t, os.WriteFile(key, nil, 0o600))
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if _, err := os.Stat(key); err != nil || !strings.Contains(h.out.String(), "bulkhead node uninstall") {
			t.Errorf("%v\n%s", err, &h.out)
		}
		h.out.Reset()
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		if !strings.Contains(h.out.String(), "Nothing had to be changed") {
			t.Errorf("a second one says\n%s", &h.out)
		}
	})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// testCluster is what the API servers of all hosts have in common.
type testCluster struct {
	objects map[string]*unstructured.Unstructured
	kubeadm string
	// conflict changes kubeadm-config once, between the read and the write of an installer.
	conflict func(string) string
	// annotations are the annotations of kube-system. ours are those that Bulkhead has set.
	annotations, ours map[string]string
	configs           *installtest.ConfigMaps
	leases            *installtest.Leases

	// members are the hosts of a cluster with several. All have the same paths: the directory of the
	// active one is at root, and those of the others are beside it.
	members []*testHost
	root    string
	active  *testHost
	// unlisted are members without a control-plane Node.
	unlisted []string
	// lost becomes the name of a member to which kubeadm-config names a file that it does not have.
	lost string
}

func newTestCluster() *testCluster {
	return &testCluster{objects: map[string]*unstructured.Unstructured{}, kubeadm: kubeadmText,
		annotations: map[string]string{}, ours: map[string]string{},
		configs: &installtest.ConfigMaps{}, leases: &installtest.Leases{}}
}

// configHash stands for the configuration: it depends on all settings, and on nothing of the host.
func configHash(r Record) (string, error) {
	data, err := json.Marshal([]any{r.Profile, r.Image, r.Extensions, r.KubeletAPI, r.NodeScope, r.Certificates})
	return journal.Hash(data), err
}

// onHosts runs a test on a cluster with several hosts, cp-1 and so on.
func onHosts(t *testing.T, name string, count int, test func(*testing.T, []*testHost)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		cluster := newTestCluster()
		cluster.root = filepath.Join(t.TempDir(), "host")
		for i := range count {
			cluster.add(t, fmt.Sprintf("cp-%d", i+1))
		}
		synctest.Test(t, func(t *testing.T) {
			for _, h := range cluster.members {
				h.t = t
			}
			test(t, cluster.members)
		})
	})
}

// add adds a control-plane host without Bulkhead.
func (c *testCluster) add(t *testing.T, name string) {
	t.Helper()
	h := newTestHost(t)
	from := filepath.Dir(h.layout.State)
	h.testCluster = c
	c.members = append(c.members, h)
	must(t, os.Rename(from, c.root+"-"+name))
	h.layout = host.Layout{Manifests: filepath.Join(c.root, "manifests"), State: filepath.Join(c.root, "bulkhead"),
		KubePKI: filepath.Join(c.root, "pki"), Lock: filepath.Join(c.root, "lock"),
		KubeletConf: filepath.Join(c.root, "kubelet.conf"), ComponentGID: h.layout.ComponentGID}
	h.name = name
	h.on()
	writeKubeletConf(t, h.layout, name)
}

// on makes this the host that the paths are about.
func (h *testHost) on() *testHost {
	h.t.Helper()
	if h.active == h {
		return h
	}
	if h.active != nil {
		must(h.t, os.Rename(h.root, h.root+"-"+h.active.name))
	}
	must(h.t, os.Rename(h.root+"-"+h.name, h.root))
	h.active = h
	return h
}

// install installs on this host of several.
func (h *testHost) install(o Options) error {
	return h.on().installer().Install(h.t.Context(), o)
}

func (h *testHost) uninstall() error {
	return h.on().installer().Uninstall(h.t.Context(), options(Hardened).Timeout)
}

func (h *testHost) dir() string {
	if h.active == h {
		return h.root
	}
	return h.root + "-" + h.name
}

func (c *testCluster) nodes() (names []string) {
	for _, h := range c.members {
		if !slices.Contains(c.unlisted, h.name) {
			names = append(names, h.name)
		}
	}
	return names
}

// membersWith returns the hosts that run a component.
func (c *testCluster) membersWith(component string) (names []string) {
	for _, h := range c.members {
		manifest := filepath.Join(h.dir(), "manifests", "bulkhead-"+component+".yaml")
		if time.Now().After(h.hidden) && atomicfile.Exists(manifest) {
			names = append(names, h.name)
		}
	}
	return names
}

// kubeadmNames is true if kubeadm-config names Bulkhead's files.
func (c *testCluster) kubeadmNames() bool { return strings.Contains(c.kubeadm, "bulkhead") }

// checkKubeadm checks that each host has the files that kubeadm-config names.
func (c *testCluster) checkKubeadm() {
	if !c.kubeadmNames() {
		return
	}
	for _, h := range c.members {
		for _, file := range []string{"authorization.yaml", "admission.yaml"} {
			if !atomicfile.Exists(filepath.Join(h.dir(), "bulkhead", "apiserver", file)) {
				c.lost = h.name
			}
		}
	}
}

// writeKubeletConf writes the kubelet's kubeconfig and certificate.
func writeKubeletConf(t *testing.T, l host.Layout, node string) {
	t.Helper()
	pair := host.PairIn(filepath.Dir(l.KubeletConf), "kubelet")
	leaf := pki.Leaf{Name: "kubelet", Pair: pair, Signer: l.KubeCA(), CommonName: "system:node:" + node,
		Usage: x509.ExtKeyUsageClientAuth, Mode: 0o600}
	_, err := pki.Rotator{Leaves: []pki.Leaf{leaf}, Policy: pki.Policy{Validity: time.Hour, RenewBefore: time.Minute},
		Now: time.Now}.Renew(true)
	must(t, err)
	config := clientcmdapi.NewConfig()
	config.AuthInfos["me"] = &clientcmdapi.AuthInfo{ClientCertificate: pair.CertFile, ClientKey: pair.KeyFile}
	config.Contexts["it"] = &clientcmdapi.Context{AuthInfo: "me"}
	config.CurrentContext = "it"
	must(t, clientcmd.WriteToFile(*config, l.KubeletConf))
}

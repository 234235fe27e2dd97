// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

const kubeadmText = "apiServer: {}\napiVersion: kubeadm.k8s.io/v1beta4\nkind: " +
	"ClusterConfiguration\nkubernetesVersion: v1.37.1\n"

// testHost is a control-plane host in a temporary directory. Its fake kubelet and API server behave
// as the files configure them.
type testHost struct {
	*testCluster
	t        *testing.T
	layout   host.Layout
	original []byte
	// name is the node name of a host of several. Its kubelet reports its static pods after hidden.
	name   string
	hidden time.Time

	// These are the possible faults of this host.
	webhookBroken, serverStuck, kubeadmBroken, certsBroken, refusesAll bool
	// uncallable is true if kube-apiserver cannot call node-restriction. skipped counts the writes
	// that it admits without it.
	uncallable bool
	skipped    int
	// kubeadmFixed is true if the API rejects every edit of kubeadm-config.
	kubeadmFixed bool
	// unreachable is the error of every request to the API server, if it is set.
	unreachable error
	// broken are the components that do not start.
	broken map[string]bool
	// complains are the components that run but are not ready.
	complains map[string]bool

	// parsed is the parsed form of parsedOf, a manifest of the API server.
	parsed   *apiserver.Manifest
	parsedOf []byte

	// These describe the running API server.
	manifest []byte
	starts   int
	// version is the version of the API server.
	version string
	// ending is how long the kubelet takes to end a static pod. ended is when each pod was first
	// seen without its manifest. A deaf API does not answer requests for pods.
	ending time.Duration
	ended  map[string]time.Time
	deaf   bool
	// dying is called with the name of a static pod that is requested while it ends.
	dying func(pod string)
	// said is called with each line of the installer's output, before it is written.
	said func(line string)
	// others are control-plane nodes that also run Bulkhead's components. bare is one that does
	// not.
	others []string
	bare   string
	// scoped are other control-plane nodes that run scope-sync.
	scoped []string

	// proxied are nodes whose kubelets are behind their proxies.
	proxied []string
	// labels are the labels of nodes.
	labels map[string]labels.Set

	components map[string]*running
	// validated is the last admission configuration that was validated.
	validated string
	// asked is the number of requests for mirror pods.
	asked int
	// unchecked becomes true if at some time neither plugin checks nodes' writes of leases.
	unchecked bool
	// log lists what the kubelet restarted.
	log []string
	out bytes.Buffer
}

// running is a component that the kubelet runs.
type running struct {
	manifest []byte
	starts   int
}

func TestMain(m *testing.M) { installtest.Main(m) }

func newTestHost(t *testing.T) *testHost {
	t.Helper()
	dir := t.TempDir()
	h := &testHost{testCluster: newTestCluster(), t: t, version: "v1.37.1",
		broken: map[string]bool{}, complains: map[string]bool{}, ended: map[string]time.Time{},
		components: map[string]*running{"node-authorizer": {}, "node-restriction": {}}}
	h.layout = host.Layout{
		Manifests: filepath.Join(dir, "manifests"), State: filepath.Join(dir, "bulkhead"),
		KubePKI: filepath.Join(dir, "pki"), Lock: filepath.Join(dir, "lock"), KubeletConf: filepath.Join(dir, "none"),
		ComponentGID: atomicfile.KeepOwner,
	}
	// Only root can give files to a group that it is not a member of.
	if os.Geteuid() == 0 {
		h.layout.ComponentGID = host.ComponentGID
	}
	for _, d := range []string{h.layout.Manifests, h.layout.KubePKI} {
		must(t, os.MkdirAll(d, 0o700))
	}
	_, err := pki.EnsureCA(h.layout.KubeCA(), "kubernetes", time.Now())
	must(t, err)
	h.original, err = os.ReadFile("../apiserver/testdata/kubeadm.yaml")
	must(t, err)
	must(t, os.WriteFile(h.layout.APIServerManifest(), h.original, 0o600))
	return h
}

// onHost runs a test on a new host. The clock moves only when all goroutines wait.
func onHost(t *testing.T, name string, test func(*testing.T, *testHost)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { onNewHost(t, test) })
}

// onHostInParallel is onHost for a test that can run at the same time as its siblings: they share no
// variables, and none of them uses [installtest.NewDisk].
func onHostInParallel(t *testing.T, name string, test func(*testing.T, *testHost)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		onNewHost(t, test)
	})
}

func onNewHost(t *testing.T, test func(*testing.T, *testHost)) {
	t.Helper()
	h := newTestHost(t)
	synctest.Test(t, func(t *testing.T) {
		h.t = t
		test(t, h)
	})
}

func (h *testHost) installer() *Installer {
	return &Installer{
		Engine: engine.Engine{Out: told{h}, Now: time.Now, Poll: time.Second, Lock: h.layout.Lock},
		Layout: h.layout, Version: "test",
		Server: h, Objects: h, Kubeadm: h, Namespaces: h, Nodes: h, MirrorPods: h,
		ConfigMaps: h.configs, Leases: h.leases, ConfigHash: configHash,
		Preflight:  func(context.Context, Options) error { return nil },
		Settle:     5 * time.Second,
		Authorizer: &testComponent{h, "node-authorizer"}, Restriction: &testComponent{h, "node-restriction"},
	}
}

func options(p Profile) Options {
	return Options{Profile: p, Image: "example.test/bulkhead:1", Timeout: 3 * time.Minute,
		Certificates: pki.Policy{Validity: time.Hour, RenewBefore: 10 * time.Minute}}
}

// kubelet restarts the components whose manifests have changed.
func (h *testHost) kubelet() {
	if now, err := os.ReadFile(h.layout.APIServerManifest()); err == nil && !bytes.Equal(now, h.manifest) {
		h.manifest, h.starts = now, h.starts+1
		h.log = append(h.log, "kube-apiserver")
	}
	for _, name := range []string{"node-authorizer", "node-restriction"} {
		c := h.components[name]
		now, _ := os.ReadFile(filepath.Join(h.layout.Manifests, "bulkhead-"+name+".yaml"))
		if !bytes.Equal(now, c.manifest) {
			c.manifest, c.starts = now, c.starts+1
			h.log = append(h.log, name)
		}
	}
}

// told receives the installer's output. At each line it checks which plugin checks leases. Later
// would be too late: at this time, the running server does not yet know a manifest that was just
// written.
type told struct{ *testHost }

func (o told) Write(line []byte) (int, error) {
	o.checkLeases()
	o.checkKubeadm()
	if o.said != nil {
		o.said(string(line))
	}
	return o.out.Write(line)
}

// checkLeases checks that the in-tree plugin or node-restriction checks leases now.
func (h *testHost) checkLeases() {
	if len(h.manifest) == 0 {
		return
	}
	m := h.server()
	disabled, _ := m.Arg("disable-admission-plugins")
	registration, _ := os.ReadFile(h.layout.Registration())
	if strings.Contains(disabled, "NodeRestriction") && !bytes.Contains(registration, []byte("leases")) {
		h.unchecked = true
	}
}

var must, read, mentions = installtest.Must, installtest.Read, installtest.Mentions

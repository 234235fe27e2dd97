// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/hostfs"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

const kubeadmText = "apiServer: {}\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.37.1\n"

// testHost is a control-plane host in a temporary directory, with a kubelet and
// an API server that do what the files say.
type testHost struct {
	t        *testing.T
	layout   Layout
	original []byte

	// What is wrong with this host.
	componentBroken, webhookBroken, serverStuck, kubeadmBroken, certsBroken bool

	// The API server that runs, and what it has been told.
	manifest []byte
	starts   int
	objects  map[string]*unstructured.Unstructured
	kubeadm  string
	// others are control-plane nodes that run the node authorizer too.
	others []string

	component       []byte
	componentStarts int
	// asked is how often somebody wanted to see a mirror pod.
	asked int
	// log is what the kubelet restarted.
	log []string
	out bytes.Buffer
}

func newTestHost(t *testing.T) *testHost {
	t.Helper()
	dir := t.TempDir()
	h := &testHost{t: t, objects: map[string]*unstructured.Unstructured{}, kubeadm: kubeadmText, layout: Layout{
		Manifests: filepath.Join(dir, "manifests"), State: filepath.Join(dir, "bulkhead"),
		KubePKI: filepath.Join(dir, "pki"), Lock: filepath.Join(dir, "lock"), KubeletConf: filepath.Join(dir, "none"), ComponentGID: hostfs.KeepOwner,
	}}
	// Only root can give files to a group that it is not in.
	if os.Geteuid() == 0 {
		h.layout.ComponentGID = ComponentGID
	}
	for _, d := range []string{h.layout.Manifests, h.layout.KubePKI} {
		must(t, os.MkdirAll(d, 0o700))
	}
	_, err := pki.EnsureCA(h.layout.KubeCA(), "kubernetes", time.Now())
	must(t, err)
	h.original, err = os.ReadFile("apiserver/testdata/kubeadm.yaml")
	must(t, err)
	must(t, os.WriteFile(h.layout.APIServerManifest(), h.original, 0o600))
	return h
}

// onHost runs a test on a host of its own, with a clock that moves only when
// everybody waits.
func onHost(t *testing.T, name string, test func(*testing.T, *testHost)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		h := newTestHost(t)
		synctest.Test(t, func(t *testing.T) {
			h.t = t
			test(t, h)
		})
	})
}

func (h *testHost) installer() *Installer {
	return &Installer{
		Layout: h.layout, Version: "test", API: h, Component: (*testComponent)(h), Out: &h.out, Now: time.Now,
		Preflight: func(context.Context, Profile) error { return nil },
		Poll:      500 * time.Millisecond, Settle: 5 * time.Second,
	}
}

func options(p Profile) Options {
	return Options{Profile: p, Image: "example.test/bulkhead:1", Timeout: 3 * time.Minute,
		Certificates: pki.Policy{Validity: time.Hour, RenewBefore: 10 * time.Minute}}
}

// kubelet restarts what its manifests describe anew.
func (h *testHost) kubelet() {
	if now, err := os.ReadFile(h.layout.APIServerManifest()); err == nil && !bytes.Equal(now, h.manifest) {
		h.manifest, h.starts = now, h.starts+1
		h.log = append(h.log, "kube-apiserver")
	}
	now, _ := os.ReadFile(h.layout.NodeAuthorizerManifest())
	if !bytes.Equal(now, h.component) {
		h.component, h.componentStarts = now, h.componentStarts+1
		h.log = append(h.log, "node-authorizer")
	}
}

func (h *testHost) wired() bool {
	m, err := apiserver.Parse(h.manifest)
	must(h.t, err)
	return m.Wired(h.layout.AuthorizationConfig())
}

func (h *testHost) Ready(context.Context) error {
	h.kubelet()
	if h.serverStuck && h.wired() {
		return errors.New("connection refused")
	}
	return nil
}

func (h *testHost) Process(context.Context) (cluster.Process, error) {
	h.kubelet()
	p := cluster.Process{Start: strconv.Itoa(h.starts)}
	if h.wired() {
		config, err := os.ReadFile(h.layout.AuthorizationConfig())
		must(h.t, err)
		p.AuthorizationHash = hash(config)
	} else if bytes.Contains(h.manifest, []byte("--authorization-config=")) {
		p.AuthorizationHash = "somebody else's"
	}
	return p, nil
}

func (h *testHost) CanaryDecision(context.Context) (cluster.Decision, error) {
	if h.webhookBroken || !h.wired() || len(h.component) == 0 {
		return cluster.Decision{EvaluationError: "connection refused"}, nil
	}
	return cluster.Decision{Reason: "no relationship found [NA-SECRET-4]"}, nil
}

func (h *testHost) Get(_ context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return h.objects[o.GetKind()+"/"+o.GetName()].DeepCopy(), nil
}

func (h *testHost) Apply(_ context.Context, o *unstructured.Unstructured) error {
	now := o.DeepCopy()
	now.SetResourceVersion("7")
	h.objects[o.GetKind()+"/"+o.GetName()] = now
	return nil
}

func (h *testHost) Delete(_ context.Context, o *unstructured.Unstructured) error {
	delete(h.objects, o.GetKind()+"/"+o.GetName())
	return nil
}

func (h *testHost) KubeadmConfig(context.Context) (string, error) { return h.kubeadm, nil }

func (h *testHost) SetKubeadmConfig(_ context.Context, text string) error {
	if h.kubeadmBroken && text != kubeadmText {
		return errors.New("admission refuses")
	}
	h.kubeadm = text
	return nil
}

func (h *testHost) AuthorizerNodes(context.Context) ([]string, error) {
	nodes := slices.Clone(h.others)
	if len(h.component) > 0 {
		nodes = append(nodes, h.layout.NodeName())
	}
	return nodes, nil
}

// MirrorPod shows a static pod as its manifest has it, once it is asked for a
// second time: a kubelet takes its time.
func (h *testHost) MirrorPod(_ context.Context, name, node string) (*corev1.Pod, error) {
	data, err := os.ReadFile(filepath.Join(h.layout.Manifests, name+".yaml"))
	if h.asked++; err != nil || node != h.layout.NodeName() || h.asked < 2 {
		return nil, nil
	}
	pod := decode(h.t, data)
	if !h.certsBroken {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return &pod, nil
}

// testComponent is the node authorizer of a testHost.
type testComponent testHost

func (c *testComponent) Ready(context.Context) error {
	(*testHost)(c).kubelet()
	if c.componentBroken || len(c.component) == 0 {
		return errors.New("connection refused")
	}
	return nil
}

func (c *testComponent) Start(ctx context.Context) (string, error) {
	if err := c.Ready(ctx); err != nil {
		return "", err
	}
	return strconv.Itoa(c.componentStarts), nil
}

func (c *testComponent) Tail() string { return "panic: out of luck" }

// snapshot is every file of the host with its content and mode, the lock aside,
// and what the API holds.
func (h *testHost) snapshot() map[string]string {
	h.t.Helper()
	all := map[string]string{"kubeadm-config": h.kubeadm}
	for name, object := range h.objects {
		content, err := essence(object)
		must(h.t, err)
		all[name] = string(content)
	}
	root := filepath.Dir(h.layout.State)
	must(h.t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == h.layout.Lock || path == root {
			return err
		}
		if d.IsDir() {
			all[path] = "directory"
			return nil
		}
		file, _, err := hostfs.Read(path)
		all[path] = fmt.Sprintf("%v group %d: %s", file.Mode, file.GID, file.Data)
		return err
	}))
	return all
}

// mustBe compares the host with an earlier snapshot.
func (h *testHost) mustBe(before map[string]string) {
	h.t.Helper()
	if diff := cmp.Diff(before, h.snapshot()); diff != "" {
		h.t.Errorf("the host differs from what it was (-before +after):\n%s", diff)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	return data
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

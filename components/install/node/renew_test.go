// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
)

// A run can be killed when the kubelet trusts only the proxy's certificate. That certificate must
// still be renewed.
func TestACertificateThatTheKubeletTrustsIsRenewed(t *testing.T) {
	onNode(t, "killed after the restart", func(t *testing.T, n *testNode) {
		starts := n.restarts
		p := n.begin()
		for _, s := range p.steps() {
			_, err := p.Run(t.Context(), s)
			must(t, err)
			if n.restarts > starts {
				break
			}
		}
		time.Sleep(55 * time.Minute)
		got, err := n.installer().Renew(t.Context(), false)
		if err != nil || fmt.Sprint(got) != "[kubelet-auth-proxy-client]" {
			t.Errorf("renewed %v, error is %v", got, err)
		}
		if unfinished, err := n.installer().Unfinished(); err != nil || !unfinished {
			t.Errorf("unfinished: %v, error is %v", unfinished, err)
		}
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		if unfinished, err := n.installer().Unfinished(); err != nil || unfinished {
			t.Errorf("after the next run: unfinished: %v, error is %v", unfinished, err)
		}
	})
}

func TestNodeRenew(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		if _, err := n.installer().Renew(t.Context(), false); err == nil {
			t.Error("there is something to renew before the installation")
		}
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		for _, tc := range []struct {
			after         time.Duration
			newCA, serves bool
			want          string
		}{
			{0, false, false, "[]"}, {55 * time.Minute, false, false, "[kubelet-auth-proxy-client]"},
			{0, true, false, "[client-ca]"},
			{0, false, true, "[kubelet-serving]"}, {0, false, false, "[]"},
		} {
			time.Sleep(tc.after)
			if tc.newCA {
				must(t, os.WriteFile(filepath.Join(filepath.Dir(n.config), "ca.crt"), []byte("another"), 0o600))
			}
			if tc.serves {
				n.certificate = "kubelet-2"
				must(t, os.WriteFile(n.serving(), []byte(n.certificate), 0o600))
			}
			got, err := n.installer().Renew(t.Context(), false)
			must(t, err)
			if fmt.Sprint(got) != tc.want {
				t.Errorf("renewed %v, want %s", got, tc.want)
			}
		}
		must(t, n.ProxyServes(t.Context(), ""))
	})
}

// The units name the exact files of the kubelet, so that systemd sees a change at once.
func TestCopiedFilesAreWatched(t *testing.T) {
	onNode(t, "a kubelet with directories of its own", func(t *testing.T, n *testNode) {
		pki := t.TempDir()
		n.extra = []string{"--cert-dir=" + pki + "/100%"}
		must(t, os.MkdirAll(pki+"/100%", 0o755))
		n.layout.KubeletPKI = pki + "/100%"
		must(t, os.WriteFile(n.config,
			[]byte("kind: KubeletConfiguration\nauthentication:\n  x509:\n    clientCAFile: ca.crt\n"), 0o600))
		n.start()
		in := n.installer()
		in.Layout.KubeletPKI = "/none"
		must(t, in.Install(t.Context(), kubeletOptions))
		unit := string(read(t, n.layout.RenewPath()))
		for _, want := range []string{
			"PathChanged=" + filepath.Join(filepath.Dir(n.config), "ca.crt") + "\n", "PathChanged=" + pki + "/100%%\n",
			"Unit=" + filepath.Base(n.layout.RenewService()),
		} {
			if !strings.Contains(unit, want) {
				t.Errorf("it lacks %q:\n%s", want, unit)
			}
		}
		record, err := ReadRecord(n.layout)
		must(t, err)
		if record.Serving != n.serving() {
			t.Errorf("the record has %s, the kubelet %s", record.Serving, n.serving())
		}
	})
	onNode(t, "a name that no unit can have", func(t *testing.T, n *testNode) {
		n.extra = []string{"--cert-dir=/a\nExecStart=b"}
		n.start()
		before := n.snapshot()
		err := n.installer().Install(t.Context(), kubeletOptions)
		if err == nil || !strings.Contains(err.Error(), "cannot be in a unit of systemd") {
			t.Errorf("error is %v", err)
		}
		n.mustBe(before)
	})
}

// The proxy's directory contains only files that the proxy may read, and the proxy's group can read
// them.
func TestTheProxySeesNothingElse(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		must(t, os.WriteFile(filepath.Join(n.layout.KubeletPKI, "kubelet-client-current.pem"), []byte("the node's"), 0o600))
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		var names []string
		entries, err := os.ReadDir(n.layout.KubeletProxy())
		must(t, err)
		for _, entry := range entries {
			info, err := entry.Info()
			must(t, err)
			if !entry.IsDir() && info.Mode().Perm() != 0o640 {
				t.Errorf("%s has mode %v", entry.Name(), info.Mode())
			}
			names = append(names, entry.Name())
		}
		for _, arg := range manifestArgs(t) {
			_, path, _ := strings.Cut(arg, "=")
			if file, ours := strings.CutPrefix(path, host.DefaultStateDir+"/kubelet-auth-proxy/"); ours &&
				!slices.Contains(names, file) {
				t.Errorf("the DaemonSet has %s, which is not there", arg)
			} else if !ours && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/var/run/bulkhead/") { // volumes
				t.Errorf("the DaemonSet has %s, which it cannot see", arg)
			}
		}
		if got := strings.Join(names, " "); got != "client-ca.crt client.crt client.key crl crl-state kubelet-serving.pem" {
			t.Errorf("it sees %s", got)
		}
	})
}

// manifestArgs returns the arguments of the proxy in the DaemonSet.
func manifestArgs(t *testing.T) []string {
	t.Helper()
	objects, err := render.Objects(host.KubeletAuthProxy)
	must(t, err)
	for _, object := range objects {
		if object.GetKind() == "DaemonSet" {
			containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			must(t, err)
			container, _ := containers[0].(map[string]any)
			command, _, err := unstructured.NestedStringSlice(container, "command")
			must(t, err)
			return command[1:]
		}
	}
	t.Fatal("no DaemonSet")
	return nil
}

// Two files that change together are both copied, in any order of the changes.
func TestAChangeDuringTheCopyIsCopiedToo(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		ca := filepath.Join(filepath.Dir(n.config), "ca.crt")
		must(t, os.WriteFile(ca, []byte("another"), 0o600))
		time.AfterFunc(copySettle/2, func() { must(t, os.WriteFile(n.serving(), []byte("kubelet-2"), 0o600)) })
		if got, err := n.installer().Renew(t.Context(), false); err != nil ||
			fmt.Sprint(got) != "[client-ca kubelet-serving]" {
			t.Errorf("renewed %v, %v", got, err)
		}
	})
}

// A renewal waits for a running installation.
func TestRenewWaitsForAnInstallation(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		must(t, os.WriteFile(n.serving(), []byte("kubelet-2"), 0o600))
		inUse, begun := make(chan struct{}), make(chan struct{})
		installed := make(chan error, 1)
		go func() {
			installed <- n.installer().Locked(func() error { close(begun); <-inUse; return nil })
		}()
		<-begun
		time.AfterFunc(time.Minute, func() { close(inUse) })
		if got, err := n.installer().Renew(t.Context(), false); err != nil || fmt.Sprint(got) != "[kubelet-serving]" {
			t.Errorf("renewed %v, %v", got, err)
		}
		must(t, <-installed)
	})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func (n *testNode) mustBe(before map[string]string) {
	n.t.Helper()
	if diff := gocmp.Diff(before, n.snapshot()); diff != "" {
		n.t.Errorf("the node differs from what it was (-before +after):\n%s", diff)
	}
}

func TestNodeInstallThenUninstallRestoresTheNode(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		before := n.snapshot()
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		if !n.proxyRuns || len(n.units) != 2 || !strings.Contains(n.dropIn, "address: 127.0.0.1") || n.restarts != 2 {
			t.Errorf("proxy %v, units %v, %d starts, drop-in:\n%s", n.proxyRuns, n.units, n.restarts, n.dropIn)
		}
		if want := "--config=" + n.config + " --config-dir=" + n.layout.KubeletConfigDir(); n.env != want {
			t.Errorf("the variable is %q, want %q", n.env, want)
		}
		must(t, n.installer().Uninstall(t.Context(), time.Minute))
		n.mustBe(before)
		must(t, n.installer().Uninstall(t.Context(), time.Minute))
		if !strings.Contains(n.out.String(), "Nothing had to be changed") {
			t.Error("a second uninstall does something")
		}
	})
}

// TestAnInstallationNamesTheClientsThatLoseAccess: mode audit cannot keep these, so the run says so.
func TestAnInstallationNamesTheClientsThatLoseAccess(t *testing.T) {
	const anonymous = "  note       requests without credentials: kubelet-auth-proxy answers them with 401\n"
	onNode(t, "a node with a read-only port", func(t *testing.T, n *testNode) {
		config := string(read(t, n.config)) + "readOnlyPort: 10255\n"
		config = strings.Replace(config, "authentication:", "authorization: {mode: AlwaysAllow}\n"+
			"authentication:\n  anonymous: {enabled: true}", 1)
		must(t, os.WriteFile(n.config, []byte(config), 0o600))
		n.newClusterCA("kubernetes")
		allow := kubeletOptions
		allow.LoopbackClients = LoopbackAllow
		for _, options := range []Options{allow, allow, kubeletOptions} {
			options.LoopbackClients = cmp.Or(options.LoopbackClients, LoopbackDeny)
			must(t, n.installer().Install(t.Context(), options))
		}
		for _, note := range []string{anonymous, "authorization mode AlwaysAllow",
			"read-only port 10255: open on 127.0.0.1 only\n", "read-only port 10255: closed\n"} {
			if got := strings.Count(n.out.String(), note); got != 1 {
				t.Errorf("it says %d times: %s\n%s", got, note, n.out.String())
			}
		}
	})
	onNode(t, "a kubelet with the flags", func(t *testing.T, n *testNode) {
		n.newClusterCA("kubernetes")
		n.extra = []string{"--read-only-port=10255", "--anonymous-auth=true", "--authorization-mode=AlwaysAllow"}
		n.start()
		allow := kubeletOptions
		allow.LoopbackClients = LoopbackAllow
		must(t, n.installer().Install(t.Context(), allow))
		if out := n.out.String(); !strings.Contains(out, "port 10255: open on") || !strings.Contains(out, anonymous) ||
			!strings.Contains(out, "authorization mode AlwaysAllow: users without a right by RBAC get 403\n") {
			t.Errorf("got\n%s", out)
		}
	})
	onNode(t, "a kubelet as kubeadm configures it", func(t *testing.T, n *testNode) {
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		if out := n.out.String(); strings.Contains(out, "read-only") || strings.Contains(out, anonymous) {
			t.Errorf("got\n%s", out)
		}
	})
}

// The cluster may issue the kubelet's certificate late: after this run has looked for it, and
// before the kubelet answers with it. This run must still copy it, because the next step waits for
// the proxy.
func TestACertificateThatComesLateIsCopied(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		n.certificateLate = true
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		if got := string(read(t, filepath.Join(n.layout.KubeletProxy(), "kubelet-serving.pem"))); got != n.certificate {
			t.Errorf("the proxy has %q", got)
		}
	})
}

func TestASecondNodeInstallChangesNothing(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		before, starts := n.snapshot(), n.restarts
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.mustBe(before)
		if n.restarts != starts || !strings.Contains(n.out.String(), "Nothing had to be changed") {
			t.Errorf("the kubelet started %d times more", n.restarts-starts)
		}
	})
}

func TestFailedNodeInstallIsReportedAndRolledBack(t *testing.T) {
	for _, tc := range []struct {
		name     string
		spoil    func(*testNode)
		mentions string
	}{
		{"a kubelet that gets no certificate", func(n *testNode) { n.certificate = "" },
			"its serving certificate is not from the cluster"},
		{"a kubelet that does not come up", func(n *testNode) { n.stuck = true }, "/healthz: connection refused"},
		{"a kubelet that answers everybody", func(n *testNode) { n.open = true }, "answers 200, not 401"},
		{"a proxy that does not start", func(n *testNode) { n.proxyDead = true }, "kubelet-auth-proxy on 192.0.2.1:10250"},
		{"a flag that counts more, since the restart", func(n *testNode) { n.extra = []string{"--read-only-port=10255"} },
			"--read-only-port=10255, which counts more"},
		{"a variable that another file sets", func(n *testNode) { n.variableSet = true }, "does an EnvironmentFile"},
	} {
		onNode(t, tc.name, func(t *testing.T, n *testNode) {
			before := n.snapshot()
			tc.spoil(n)
			err := n.installer().Install(t.Context(), kubeletOptions)
			if err == nil || !strings.Contains(err.Error(), tc.mentions) ||
				!strings.Contains(err.Error(), "rolled back") {
				t.Errorf("error is %v", err)
			}
			n.mustBe(before)
		})
	}
}

func TestAnInterruptLeavesTheKubeletRunning(t *testing.T) {
	onNode(t, "while the proxy is being ended", func(t *testing.T, n *testNode) {
		before := n.snapshot()
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		ctx, cancel := context.WithCancel(t.Context())
		n.duringEvict = cancel
		if err := n.installer().Uninstall(ctx, time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		if !n.running || n.proxyRuns || n.dropIn != "" {
			t.Errorf("the kubelet runs: %v, the proxy: %v, drop-in: %q", n.running, n.proxyRuns, n.dropIn)
		}
		must(t, n.installer().Uninstall(t.Context(), time.Minute))
		n.mustBe(before)
	})
	onNode(t, "while what a killed run left is put back", func(t *testing.T, n *testNode) {
		before := n.snapshot()
		p := n.begin()
		for _, s := range p.steps()[:nodeStepCount-1] {
			_, err := p.Run(t.Context(), s)
			must(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		n.duringEvict = cancel
		if err := n.installer().transaction(time.Minute).Recover(ctx); !errors.Is(err, context.Canceled) || !n.running {
			t.Errorf("the kubelet runs: %v, error is %v", n.running, err)
		}
		must(t, n.installer().transaction(time.Minute).Recover(t.Context()))
		n.mustBe(before)
	})
	onNode(t, "before the kubelet is stopped", func(t *testing.T, n *testNode) {
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		starts := n.restarts
		if err := n.installer().reopen(ctx, time.Minute, n.installer().unguard); !errors.Is(err, context.Canceled) ||
			n.restarts != starts || !n.running {
			t.Errorf("the kubelet started %d times more, error is %v", n.restarts-starts, err)
		}
	})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// waiting is `bulkhead node install --wait` on a node.
type waiting struct {
	*testNode
	ended chan error
	stop  context.CancelFunc
}

func (n *testNode) wait() *waiting {
	n.t.Helper()
	ctx, cancel := context.WithCancel(n.t.Context())
	w := &waiting{testNode: n, ended: make(chan error, 1), stop: cancel}
	go func() { w.ended <- n.installer().InstallWhenReady(ctx, kubeletOptions) }()
	return w
}

func (n *testNode) join() {
	n.t.Helper()
	must(n.t, os.WriteFile(n.layout.KubeletConf, nil, 0o600))
}

// pass lets time pass. The command must go on, and must not touch the kubelet.
func (w *waiting) pass(d time.Duration) {
	w.t.Helper()
	starts := w.restarts
	time.Sleep(d)
	synctest.Wait()
	select {
	case err := <-w.ended:
		w.t.Fatalf("it ended: %v", err)
	default:
	}
	if w.restarts != starts {
		w.t.Errorf("the kubelet was restarted")
	}
}

// within waits until the node is installed.
func (w *waiting) within(limit time.Duration) {
	w.t.Helper()
	select {
	case err := <-w.ended:
		must(w.t, err)
	case <-time.After(limit):
		w.t.Fatalf("it is not installed within %s:\n%s", limit, w.out.String())
	}
	if !w.proxyRuns {
		w.t.Error("the proxy does not serve")
	}
}

func (w *waiting) interrupt() {
	w.t.Helper()
	w.stop()
	if err := <-w.ended; !errors.Is(err, context.Canceled) {
		w.t.Errorf("error is %v", err)
	}
}

func TestInstallWhenReady(t *testing.T) {
	onNode(t, "machine that never joins: nothing changes", func(t *testing.T, n *testNode) {
		before := n.snapshot()
		w := n.wait()
		w.pass(24 * time.Hour)
		w.interrupt()
		n.mustBe(before)
		if n.asked != 0 || strings.Count(n.out.String(), "\n") != 1 ||
			!strings.Contains(n.out.String(), "this host has not joined a cluster") {
			t.Errorf("the API server was asked %d times; output:\n%s", n.asked, n.out.String())
		}
	})
	onNode(t, "machine that joins later: installed", func(t *testing.T, n *testNode) {
		n.running = false // as long as the kubelet has no configuration
		w := n.wait()
		w.pass(time.Hour)
		n.join()
		w.pass(time.Minute)
		n.start()
		w.within(20 * time.Second)
	})
	onNode(t, "cluster without a proxy: nothing changes until it has one", func(t *testing.T, n *testNode) {
		n.join()
		n.proxyWanted = false
		before := n.snapshot()
		w := n.wait()
		w.pass(24 * time.Hour)
		n.mustBe(before)
		n.proxyMu.Lock()
		if n.asked > 24*60*2+10 {
			t.Errorf("the API server was asked %d times", n.asked)
		}
		n.proxyStarts, n.proxyWanted = 1, true
		n.proxyMu.Unlock()
		w.within(90 * time.Second)
	})
	onNode(t, "certificate that is not approved: repeated, less and less often", func(t *testing.T, n *testNode) {
		n.join()
		n.certificate = ""
		w := n.wait()
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if most := 2*(3*6+6) + 1; n.restarts < 10 || n.restarts > most {
			t.Errorf("the kubelet started %d times, want at most %d", n.restarts, most)
		}
		n.certificate = "kubelet-1"
		w.within(15 * time.Minute)
	})
	onNode(t, "node that is installed: nothing changes", func(t *testing.T, n *testNode) {
		n.join()
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.proxyStarts = 1_000_000 // a proxy that crashes
		before, starts := n.snapshot(), n.restarts
		n.wait().within(time.Second)
		n.mustBe(before)
		if n.restarts != starts {
			t.Error("the kubelet was restarted")
		}
	})
	onNode(t, "run that was killed: rolled back and installed", func(t *testing.T, n *testNode) {
		n.join()
		p := n.begin()
		for _, s := range p.steps()[:3] {
			_, err := p.Run(t.Context(), s)
			must(t, err)
		}
		n.wait().within(time.Minute)
	})
	onNode(t, "invalid options: an error at once", func(t *testing.T, n *testNode) {
		mentions(t, n.installer().InstallWhenReady(t.Context(), Options{}), "--cert-renew-before")
	})
}

// A start of the kubelet starts the unit, which would undo the uninstallation.
func TestUninstallDisablesTheUnitOfAMachineImage(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		before := n.snapshot()
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.units[InstallUnit] = true
		must(t, n.installer().Uninstall(t.Context(), time.Minute))
		n.mustBe(before)
		if !strings.Contains(n.out.String(), InstallUnit+" is disabled") {
			t.Errorf("output:\n%s", n.out.String())
		}
	})
	onNode(t, "a node whose unit still waits for its proxy", func(t *testing.T, n *testNode) {
		before := n.snapshot()
		n.units[InstallUnit] = true
		must(t, n.installer().Uninstall(t.Context(), time.Minute))
		n.mustBe(before)
		out := n.out.String()
		if n.units[InstallUnit] || !strings.Contains(out, InstallUnit+" is disabled") ||
			strings.Contains(out, "Nothing had to be changed") { // the play of Ansible looks for it
			t.Errorf("the unit is enabled: %t; output:\n%s", n.units[InstallUnit], out)
		}
	})
}

func TestUnit(t *testing.T) {
	for _, tc := range []struct {
		program string
		clients LoopbackClients
		want    string
		fails   string
	}{
		{"/usr/local/bin/bulkhead", "", "\nExecStart=/usr/local/bin/bulkhead node install --wait\n", ""},
		{"/opt/50%/bulkhead", LoopbackAllow,
			"\nExecStart=/opt/50%%/bulkhead node install --wait --loopback-clients=allow\n", ""},
		{"bulkhead", "", "", "cannot be in a unit"},
		{"/opt/a\nb", "", "", "cannot be in a unit"},
	} {
		unit, err := Unit(tc.program, tc.clients)
		mentions(t, err, tc.fails)
		if !strings.Contains(unit, tc.want) || err == nil && !strings.Contains(unit, "WantedBy=kubelet.service") {
			t.Errorf("%s:\n%s", tc.program, unit)
		}
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// mustHaveBundle checks that the bundle has the proxy's certificate and the cluster's client CA,
// and nothing else.
func (n *testNode) mustHaveBundle() {
	n.t.Helper()
	want := slices.Concat(read(n.t, n.layout.KubeletClientCA()), read(n.t, n.clusterCA()))
	if got := read(n.t, bundleFile(n.layout)); !bytes.Equal(got, want) {
		n.t.Errorf("the bundle is\n%s\nwant\n%s", got, want)
	}
	info, err := os.Stat(bundleFile(n.layout))
	must(n.t, err)
	if info.Mode().Perm() != 0o600 {
		n.t.Errorf("the bundle has mode %v", info.Mode())
	}
}

func TestRenewKeepsTheBundleCurrent(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		client := n.newClusterCA("cluster")
		must(t, n.installer().Install(t.Context(), withClients(LoopbackAllow)))
		starts := n.restarts
		for _, tc := range []struct {
			name   string
			change func()
			want   string
		}{
			{"no change", func() {}, "[]"},
			{"certificate of the proxy is due", func() { time.Sleep(55 * time.Minute) }, "[kubelet-auth-proxy-client]"},
			{"old certificate, until the kubelet rejects it", func() { time.Sleep(11 * time.Minute) },
				"[kubelet-client-ca-bundle]"},
			{"new client CA of the cluster", func() { client = n.newClusterCA("another") },
				"[client-ca kubelet-client-ca-bundle]"},
			{"both at once", func() { client = n.newClusterCA("third"); time.Sleep(45 * time.Minute) },
				"[client-ca kubelet-client-ca-bundle kubelet-auth-proxy-client]"},
			{"bundle was removed", func() { must(t, os.Remove(bundleFile(n.layout))) }, "[kubelet-client-ca-bundle]"},
			{"bundle was changed", func() { must(t, os.WriteFile(bundleFile(n.layout), []byte("x"), 0o600)) },
				"[kubelet-client-ca-bundle]"},
		} {
			tc.change()
			got, err := n.installer().Renew(t.Context(), false)
			if err != nil || fmt.Sprint(got) != tc.want {
				t.Errorf("%s: renewed %v, want %s, error is %v", tc.name, got, tc.want, err)
			}
			n.mustHaveBundle()
			n.mustAccept(client, true)
		}
		if n.restarts != starts {
			t.Errorf("the kubelet started %d times more", n.restarts-starts)
		}
		n.mustHaveOneKey()
	})
	onNode(t, "deny: the bundle does not exist", func(t *testing.T, n *testNode) {
		n.newClusterCA("cluster")
		must(t, n.installer().Install(t.Context(), withClients(LoopbackDeny)))
		client := n.newClusterCA("another")
		if got, err := n.installer().Renew(t.Context(), true); err != nil ||
			fmt.Sprint(got) != "[client-ca kubelet-auth-proxy-client]" {
			t.Errorf("renewed %v, error is %v", got, err)
		}
		if _, err := os.Stat(bundleFile(n.layout)); !os.IsNotExist(err) {
			t.Errorf("error is %v", err)
		}
		n.mustAccept(client, false)
	})
}

// The proxy uses a new certificate only after the kubelet has read it from the bundle.
func TestTheBundleHasANewCertificateBeforeItIsUsed(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		client := n.newClusterCA("cluster")
		must(t, n.installer().Install(t.Context(), withClients(LoopbackAllow)))
		former := n.client()
		asked := 0
		n.duringAccept = func() error {
			asked++
			n.mustHaveBundle()
			if !slices.Equal(n.client().Certificate[0], former.Certificate[0]) {
				t.Error("the proxy has the new certificate already")
			}
			n.mustAccept(client, true)
			return nil
		}
		_, err := n.installer().Renew(t.Context(), true)
		must(t, err)
		if asked != 1 || slices.Equal(n.client().Certificate[0], former.Certificate[0]) {
			t.Errorf("asked %d times", asked)
		}
		n.mustHaveBundle()
		n.mustAccept(former, true)
	})
}

// The kubelet does not start with a clientCAFile that it cannot read, so a mistake in the cluster's
// file must not reach the bundle.
func TestABrokenClientCAIsNotCopiedToTheBundle(t *testing.T) {
	onNode(t, "a node", func(t *testing.T, n *testNode) {
		client := n.newClusterCA("cluster")
		must(t, n.installer().Install(t.Context(), withClients(LoopbackAllow)))
		good := read(t, n.clusterCA())
		must(t, os.WriteFile(n.clusterCA(), []byte("broken"), 0o600))
		_, err := n.installer().Renew(t.Context(), false)
		mentions(t, err, "cannot update the kubelet's clientCAFile")
		n.mustAccept(client, true)
		must(t, os.WriteFile(n.clusterCA(), good, 0o600))
		_, err = n.installer().Renew(t.Context(), false)
		must(t, err)
		n.mustHaveBundle()
	})
}

// A renewed certificate stays after a rollback, so the restored bundle must have it.
func TestARollbackKeepsTheBundleCurrent(t *testing.T) {
	for _, to := range []LoopbackClients{LoopbackDeny, LoopbackAllow} {
		onNode(t, "to "+string(to), func(t *testing.T, n *testNode) {
			n.newClusterCA("cluster")
			must(t, n.installer().Install(t.Context(), withClients(LoopbackAllow)))
			time.Sleep(55 * time.Minute)
			client := n.newClusterCA("another")
			p := n.beginWith(withClients(to))
			steps := p.steps()
			steps[len(steps)-1].Apply = func(context.Context) (bool, error) {
				return true, errors.New("broken on purpose")
			}
			_, err := p.transaction(p.Timeout).Apply(t.Context(), p.journal, steps)
			mentions(t, err, "rolled back")
			want := slices.Concat(read(t, n.layout.KubeletClientCA()), read(t, n.installer().proxyClientCA()))
			if !bytes.Equal(read(t, bundleFile(n.layout)), want) {
				t.Error("the bundle differs from its two sources")
			}
			n.readClients()
			must(t, n.knows(n.client()))
			_, err = n.installer().Renew(t.Context(), false)
			must(t, err)
			n.mustHaveBundle()
			n.mustAccept(client, true)
		})
	}
}

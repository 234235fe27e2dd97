// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNoKeyOfAnAuthorityIsOnANode(t *testing.T) {
	onNode(t, "after an installation, renewals and another installation", func(t *testing.T, n *testNode) {
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.mustHaveOneKey()
		for range 3 {
			time.Sleep(51 * time.Minute)
			renewed, err := n.installer().Renew(t.Context(), false)
			if err != nil || len(renewed) != 1 {
				t.Errorf("renewed %v, error is %v", renewed, err)
			}
			n.mustHaveOneKey()
		}
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.mustHaveOneKey()
	})
	onNode(t, "after an upgrade by node install", func(t *testing.T, n *testNode) {
		before := n.snapshot()
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.older()
		starts := n.restarts
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.mustHaveOneKey()
		upgraded := n.snapshot()
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.mustBe(upgraded)
		if n.restarts != starts {
			t.Errorf("the kubelet started %d times more", n.restarts-starts)
		}
		must(t, n.installer().Uninstall(t.Context(), time.Minute))
		n.mustBe(before)
	})
	onNode(t, "after an upgrade by the renewal alone", func(t *testing.T, n *testNode) {
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.older()
		former := n.client()
		n.acceptsLate = 100
		renewed, err := n.installer().Renew(t.Context(), false)
		if err != nil || fmt.Sprint(renewed) != "[kubelet-auth-proxy-client]" {
			t.Errorf("renewed %v, error is %v", renewed, err)
		}
		n.mustHaveOneKey()
		must(t, n.knows(former))
		time.Sleep(15 * time.Minute)
		_, err = n.installer().Renew(t.Context(), false)
		must(t, err)
		n.mustHaveOneKey()
		if n.knows(former) == nil {
			t.Error("the certificate that the authority had signed is still accepted")
		}
	})
}

func TestAnUpgradeOfTheKeysThatWasKilledIsRepeated(t *testing.T) {
	killed := errors.New("killed")
	for _, tc := range []struct {
		name string
		kill func(*testNode) error
		want string
	}{
		{"before the kubelet has read the new certificate", func(n *testNode) error {
			n.duringAccept = func() error { return killed }
			_, err := n.installer().Renew(n.t.Context(), false)
			n.duringAccept = nil
			if !errors.Is(err, killed) {
				return fmt.Errorf("error is %w", err)
			}
			must(n.t, n.knows(n.client()))
			n.readClients()
			return n.knows(n.client())
		}, "[]"},
		{"before the key of the authority is removed", func(n *testNode) error {
			_, err := n.layout.KubeletRotator(kubeletOptions.Certificates, time.Now).Renew(false)
			return err
		}, "[]"},
	} {
		onNode(t, tc.name, func(t *testing.T, n *testNode) {
			must(t, n.installer().Install(t.Context(), kubeletOptions))
			n.older()
			must(t, tc.kill(n))
			if len(n.keys()) != 2 {
				t.Errorf("private keys are in %v", n.keys())
			}
			got, err := n.installer().Renew(t.Context(), false)
			if err != nil || fmt.Sprint(got) != tc.want {
				t.Errorf("renewed %v, want %s, error is %v", got, tc.want, err)
			}
			n.mustHaveOneKey()
		})
	}
}

// If a later step of an upgrade fails, the new keys stay, because the old state works with them.
// Everything else is rolled back.
func TestAnUpgradeThatFailsLeavesTheProxyWithACertificate(t *testing.T) {
	for i := range nodeStepCount {
		onNode(t, fmt.Sprintf("step %d", i+1), func(t *testing.T, n *testNode) {
			must(t, n.installer().Install(t.Context(), kubeletOptions))
			n.older()
			before := n.withoutClient()
			p := n.begin()
			steps := p.steps()
			whole := steps[i]
			steps[i].Apply = func(ctx context.Context) (bool, error) {
				_, err := p.Run(ctx, whole)
				return true, errors.Join(errors.New("broken on purpose"), err)
			}
			if _, err := p.transaction(p.Timeout).Apply(t.Context(), p.journal, steps); err == nil {
				t.Error("the step has not failed")
			}
			if diff := cmp.Diff(before, n.withoutClient()); diff != "" {
				t.Errorf("-before +after:\n%s", diff)
			}
			n.mustHaveOneKey()
		})
	}
}

// If the kubelet does not accept the renewed certificate in time, the proxy keeps its current one.
func TestTheProxyKeepsACertificateThatTheKubeletAccepts(t *testing.T) {
	onNode(t, "a kubelet that reads no new certificates", func(t *testing.T, n *testNode) {
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		time.Sleep(51 * time.Minute)
		n.acceptsLate = 1 << 20
		before := n.client()
		renewed, err := n.installer().Renew(t.Context(), false)
		if err == nil || !strings.Contains(err.Error(), "the old one stays in use") || len(renewed) > 0 {
			t.Errorf("renewed %v, error is %v", renewed, err)
		}
		if !slices.Equal(before.Certificate[0], n.client().Certificate[0]) {
			t.Error("the proxy has another certificate")
		}
		must(t, n.knows(n.client()))
		time.Sleep(10 * time.Minute) // the certificate has expired
		renewed, err = n.installer().Renew(t.Context(), false)
		if err != nil || len(renewed) != 1 {
			t.Errorf("renewed %v, error is %v", renewed, err)
		}
		n.mustHaveOneKey()
	})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// withClients returns kubeletOptions with this setting.
func withClients(clients LoopbackClients) Options {
	o := kubeletOptions
	o.LoopbackClients = clients
	return o
}

// newClusterCA replaces the cluster's client CA and returns a client certificate that it signed.
func (n *testNode) newClusterCA(name string) tls.Certificate {
	n.t.Helper()
	dir := n.t.TempDir()
	ca, client := host.PairIn(dir, "ca"), host.PairIn(dir, "client")
	_, err := pki.EnsureCA(ca, name, time.Now())
	must(n.t, err)
	_, err = pki.Rotator{Policy: pki.Policy{Validity: 24 * time.Hour}, Now: time.Now, Leaves: []pki.Leaf{{
		Name: "client", Pair: client, Signer: ca, CommonName: "log-agent", Usage: x509.ExtKeyUsageClientAuth, Mode: 0o600,
	}}}.Renew(true)
	must(n.t, err)
	must(n.t, os.WriteFile(n.clusterCA(), read(n.t, ca.CertFile), 0o600))
	pair, err := tls.LoadX509KeyPair(client.CertFile, client.KeyFile)
	must(n.t, err)
	return pair
}

func (n *testNode) clusterCA() string { return filepath.Join(filepath.Dir(n.config), "ca.crt") }

// mustAccept checks whether the kubelet accepts the proxy's certificate and this client, as its
// clientCAFile is now.
func (n *testNode) mustAccept(client tls.Certificate, want bool) {
	n.t.Helper()
	n.readClients()
	must(n.t, n.knows(n.client()))
	if err := n.knows(client); (err == nil) != want {
		n.t.Errorf("the kubelet accepts the client: %v, want %v", err, want)
	}
}

// The drop-in with LoopbackAllow must not set what the node's own configuration decides.
func TestDropInOfEachSetting(t *testing.T) {
	const both = "address serverTLSBootstrap authentication.x509.clientCAFile"
	for _, tc := range []struct {
		clients LoopbackClients
		file    string
		sets    string
	}{
		{LoopbackDeny, "kubelet-client-ca.crt",
			both + " readOnlyPort authentication.anonymous.enabled authentication.webhook.enabled authorization.mode"},
		{LoopbackAllow, "kubelet-client-ca-bundle.crt", both},
	} {
		onNode(t, string(tc.clients), func(t *testing.T, n *testNode) {
			n.newClusterCA("cluster")
			must(t, n.installer().Install(t.Context(), withClients(tc.clients)))
			if got := n.clientCAFile(); got != filepath.Join(n.layout.Node(), tc.file) {
				t.Errorf("clientCAFile is %s", got)
			}
			var config map[string]any
			must(t, yaml.Unmarshal(read(t, n.layout.KubeletDropIn()), &config))
			delete(config, "apiVersion")
			delete(config, "kind")
			got := map[string]bool{}
			leaves(config, "", got)
			for _, field := range strings.Fields(tc.sets) {
				if !got[field] {
					t.Errorf("it does not set %s", field)
				}
				delete(got, field)
			}
			if len(got) > 0 {
				t.Errorf("it also sets %v", got)
			}
		})
	}
}

// leaves adds the paths of all fields that are not objects.
func leaves(object map[string]any, prefix string, found map[string]bool) {
	for key, value := range object {
		if inner, is := value.(map[string]any); is {
			leaves(inner, prefix+key+".", found)
			continue
		}
		found[prefix+key] = true
	}
}

func TestChangeOfTheSetting(t *testing.T) {
	onNode(t, "deny, allow, deny, allow, then uninstall", func(t *testing.T, n *testNode) {
		client := n.newClusterCA("cluster")
		before := n.snapshot()
		states := map[string]map[string]string{}
		for _, tc := range []struct {
			flag, want LoopbackClients
			restarts   int
		}{
			{"", LoopbackDeny, 1}, {LoopbackDeny, LoopbackDeny, 0}, {LoopbackAllow, LoopbackAllow, 1}, {"", LoopbackAllow, 0},
			{LoopbackAllow, LoopbackAllow, 0}, {LoopbackDeny, LoopbackDeny, 1}, {"", LoopbackDeny, 0},
			{LoopbackAllow, LoopbackAllow, 1},
		} {
			starts := n.restarts
			n.out.Reset()
			must(t, n.installer().Install(t.Context(), withClients(tc.flag)))
			if n.restarts-starts != tc.restarts {
				t.Errorf("flag %q: the kubelet started %d times, want %d", tc.flag, n.restarts-starts, tc.restarts)
			}
			n.mustAccept(client, tc.want == LoopbackAllow)
			said := strings.Contains(n.out.String(), "also pods with hostNetwork, reach the kubelet's API")
			if said != (tc.want == LoopbackAllow) {
				t.Errorf("flag %q: the output is:\n%s", tc.flag, n.out.String())
			}
			record, err := ReadRecord(n.layout)
			must(t, err)
			if record.LoopbackClients != tc.want {
				t.Errorf("flag %q: the record has %q, want %q", tc.flag, record.LoopbackClients, tc.want)
			}
			state := string(tc.want) + string(record.LoopbackFrom)
			if states[state] == nil {
				states[state] = n.snapshot()
			}
			n.mustBe(states[state])
		}
		must(t, n.installer().Uninstall(t.Context(), time.Minute))
		n.mustBe(before)
	})
	onNode(t, "a record of an older version without the setting: deny", func(t *testing.T, n *testNode) {
		client := n.newClusterCA("cluster")
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		old := n.oldRecord("")
		starts := n.restarts
		must(t, n.installer().Install(t.Context(), kubeletOptions))
		n.mustAccept(client, false)
		if n.restarts != starts || strings.Contains(old, "loopback") {
			t.Errorf("the kubelet started %d times, the record was %s", n.restarts-starts, old)
		}
	})
}

func TestASettingThatCannotBeInstalledChangesNothing(t *testing.T) {
	for _, tc := range []struct {
		name     string
		clients  LoopbackClients
		prepare  func(*testNode)
		mentions string
	}{
		{"invalid value", "maybe", func(*testNode) {}, `invalid value "maybe" for loopback clients: use deny or allow`},
		{"allow, client CA without a certificate", LoopbackAllow,
			func(n *testNode) { must(n.t, os.WriteFile(n.clusterCA(), []byte("none"), 0o600)) },
			"/ca.crt: data does not contain"},
		{"deny, kubelet with a flag for tokens", LoopbackDeny,
			func(n *testNode) { n.extra = []string{"--authentication-token-webhook=true"}; n.start() },
			"--authentication-token-webhook=true, which counts more"},
		{"allow, kubelet with a flag for tokens", LoopbackAllow,
			func(n *testNode) { n.extra = []string{"--authentication-token-webhook=true"}; n.start() }, ""},
		{"allow, kubelet with a flag for its client CA", LoopbackAllow,
			func(n *testNode) { n.extra = []string{"--client-ca-file=/x"}; n.start() },
			"--client-ca-file=/x, which counts more"},
	} {
		onNode(t, tc.name, func(t *testing.T, n *testNode) {
			n.newClusterCA("cluster")
			tc.prepare(n)
			before, starts := n.snapshot(), n.restarts
			err := n.installer().Install(t.Context(), withClients(tc.clients))
			mentions(t, err, tc.mentions)
			if tc.mentions != "" {
				n.mustBe(before)
			}
			if (n.restarts == starts) != (tc.mentions != "") {
				t.Errorf("the kubelet started %d times more", n.restarts-starts)
			}
		})
	}
}

// A change of the setting that fails restores the former setting, in both directions.
func TestEveryFailingChangeOfTheSettingIsRolledBack(t *testing.T) {
	for _, from := range []LoopbackClients{LoopbackDeny, LoopbackAllow} {
		to := map[LoopbackClients]LoopbackClients{LoopbackDeny: LoopbackAllow, LoopbackAllow: LoopbackDeny}[from]
		for i := range nodeStepCount {
			onNode(t, fmt.Sprintf("from %s to %s, step %d", from, to, i+1), func(t *testing.T, n *testNode) {
				client := n.newClusterCA("cluster")
				must(t, n.installer().Install(t.Context(), withClients(from)))
				before := n.snapshot()
				p := n.beginWith(withClients(to))
				steps := p.steps()
				whole := steps[i]
				steps[i].Apply = func(ctx context.Context) (bool, error) {
					_, err := p.Run(ctx, whole)
					return true, errors.Join(errors.New("broken on purpose"), err)
				}
				_, err := p.transaction(p.Timeout).Apply(t.Context(), p.journal, steps)
				mentions(t, err, "rolled back")
				n.mustBe(before)
				n.mustAccept(client, from == LoopbackAllow)
			})
		}
	}
}

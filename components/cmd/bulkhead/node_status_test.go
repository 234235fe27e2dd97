// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/node"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// statusSystem is a node whose running kubelet has the setting clients.
type statusSystem struct {
	node.System
	clients node.LoopbackClients
}

func (s statusSystem) Closed(_ context.Context, _ pki.Pair, clients node.LoopbackClients) error {
	if clients != s.clients {
		return errors.New("the kubelet runs with another setting")
	}
	return nil
}

func (statusSystem) ProxyServes(context.Context, string) error { return nil }
func (statusSystem) Proxy(context.Context) (node.Proxy, error) {
	return node.Proxy{Address: "192.0.2.1:10250"}, nil
}

func TestNodeStatusShowsLoopbackClients(t *testing.T) {
	for _, tc := range []struct {
		name, record string
		running      node.LoopbackClients
		want         []string
	}{
		{"deny", `{"version":"1","loopbackClients":"deny"}`, node.LoopbackDeny,
			[]string{"loopback clients deny: the kubelet accepts only the certificate of its proxy\n",
				"kubelet          ready\n"}},
		{"allow", `{"version":"1","loopbackClients":"allow"}`, node.LoopbackAllow,
			[]string{"loopback clients allow: clients on this node, also pods with hostNetwork,", "kubelet          ready\n"}},
		{"allow by the flag", `{"version":"1","loopbackClients":"allow","loopbackClientsFrom":"flag"}`,
			node.LoopbackAllow, []string{"limit them (set by --loopback-clients)\n"}},
		{"allow by the cluster", `{"version":"1","loopbackClients":"allow","loopbackClientsFrom":"cluster"}`,
			node.LoopbackAllow, []string{"limit them\n"}},
		{"record of an older version: deny", `{"version":"1"}`, node.LoopbackDeny,
			[]string{"loopback clients deny: ", "kubelet          ready\n"}},
		{"kubelet that runs with another setting", `{"version":"1","loopbackClients":"deny"}`, node.LoopbackAllow,
			[]string{"loopback clients deny: ", "kubelet          not ready: the kubelet runs with another setting\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			layout := host.Layout{State: t.TempDir(), Units: t.TempDir()}
			if err := os.MkdirAll(layout.Node(), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(layout.NodeRecord(), []byte(tc.record), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err := printNode(t.Context(), &out, &node.Installer{Layout: layout, System: statusSystem{clients: tc.running}})
			if err != nil {
				t.Error(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it lacks %q:\n%s", want, out.String())
				}
			}
		})
	}
}

func TestInvalidValueOfLoopbackClients(t *testing.T) {
	for _, value := range []string{"maybe", "", "Allow"} {
		cmd := newNodeCommand()
		cmd.SetArgs([]string{"install", "--loopback-clients=" + value, "--state-dir=" + t.TempDir()})
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "use deny, allow") {
			t.Errorf("%q: error is %v", value, err)
		}
	}
}

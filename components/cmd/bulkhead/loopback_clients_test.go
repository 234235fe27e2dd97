// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/node"
)

func TestKubeletLoopbackClientsFlag(t *testing.T) {
	recorded := `{"profile": "hardened", "beyondUpstream": {"loopbackClients": "allow"}}`
	for _, tc := range []struct {
		name, record string
		args         []string
		want         node.LoopbackClients
		set          bool
		fails        string
	}{
		{name: "first run: unset"},
		{name: "later run without the flag: as before", record: recorded, want: node.LoopbackAllow},
		{name: "allow", args: []string{"--kubelet-loopback-clients=allow"}, want: node.LoopbackAllow, set: true},
		{name: "deny", record: recorded, args: []string{"--kubelet-loopback-clients=deny"}, want: node.LoopbackDeny,
			set: true},
		{name: "empty value: unset", record: recorded, args: []string{"--kubelet-loopback-clients="}, set: true},
		{name: "invalid value", args: []string{"--kubelet-loopback-clients=Allow"},
			fails: `--kubelet-loopback-clients: invalid value "Allow" for loopback clients: use deny or allow`},
		{name: "value of the flag of a node", args: []string{"--kubelet-loopback-clients=cluster"},
			fails: `--kubelet-loopback-clients: invalid value "cluster" for loopback clients: use deny or allow`},
		{name: "file without the field: unset", record: recorded,
			args: []string{"--config=" + writeConfig(t, "profile: hardened\n")}, set: true},
		{name: "file with the field", args: []string{"--config=" + writeConfig(t,
			"kubeletAPI: {loopbackClients: allow}\n")}, want: node.LoopbackAllow, set: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state := t.TempDir()
			if tc.record != "" {
				writeRecord(t, state, tc.record)
			}
			got, _, err := resolve(t, state, tc.args...)
			if tc.fails != "" {
				if err == nil || err.Error() != tc.fails {
					t.Errorf("got %v, want %s", err, tc.fails)
				}
				return
			}
			if err != nil || got.Extensions.LoopbackClients != tc.want || got.ExtensionsSet != tc.set {
				t.Errorf("got %q (set in this run: %v), %v", got.Extensions.LoopbackClients, got.ExtensionsSet, err)
			}
		})
	}
}

func TestPrintedConfigHasTheEffectiveLoopbackClients(t *testing.T) {
	for _, tc := range []struct{ name, file, want string }{
		{"no setting: deny", "", "\n  loopbackClients: deny\n"},
		{"mode audit: allow", "mode: audit\n", "\n  loopbackClients: allow\n"},
		{"mode audit with deny: deny", "mode: audit\nkubeletAPI: {loopbackClients: deny}\n", "\n  loopbackClients: deny\n"},
		{"allow: allow", "kubeletAPI: {loopbackClients: allow}\n", "\n  loopbackClients: allow\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			root := newRootCommand()
			root.SetOut(&out)
			root.SetArgs([]string{"config", "print", writeConfig(t, tc.file)})
			if err := root.Execute(); err != nil || !strings.Contains(out.String(), tc.want) {
				t.Errorf("error %v, want %q in\n%s", err, tc.want, out.String())
			}
		})
	}
}

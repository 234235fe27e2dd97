// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
			got, ok := resolveWith(t, tc.record, tc.args, tc.fails)
			if ok && (got.Extensions.LoopbackClients != tc.want || got.ExtensionsSet != tc.set) {
				t.Errorf("got %q (set in this run: %v)", got.Extensions.LoopbackClients, got.ExtensionsSet)
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
			if out, err := runConfig("print", writeConfig(t, tc.file)); err != nil || !strings.Contains(out, tc.want) {
				t.Errorf("error %v, want %q in\n%s", err, tc.want, out)
			}
		})
	}
}

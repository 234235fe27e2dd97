// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

func TestTheInstallersFlags(t *testing.T) {
	for _, tc := range []struct {
		name string
		want wanted
		is   []string
	}{
		{"no flags", wanted{profile: "hardened"}, []string{"--kubelet-api", "--mode=enforce", "--node-scope=false"}},
		{"node scope", wanted{profile: "hardened", nodeScope: true},
			[]string{"--kubelet-api", "--mode=enforce", "--node-scope=true"}},
		{"node scope in parity, and an extra flag",
			wanted{profile: "parity", nodeScope: true, extra: []string{"--x"}},
			[]string{"--kubelet-api", "--mode=enforce", "--node-scope=true", "--x"}},
		{"no node scope in in-tree", wanted{profile: "in-tree", nodeScope: true}, []string{"--kubelet-api"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.is, tc.want.flags("--kubelet-api")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestProfilesThatScopeKubeProxy(t *testing.T) {
	for _, tc := range []struct {
		want wanted
		is   bool
	}{
		{wanted{profile: "hardened", nodeScope: true}, true},
		{wanted{profile: "parity", nodeScope: true}, true},
		{wanted{profile: "hardened"}, false},
		{wanted{profile: "in-tree", nodeScope: true}, false},
	} {
		if got := tc.want.limitsKubeProxy(); got != tc.is {
			t.Errorf("%+v: %t", tc.want, got)
		}
	}
}

func TestEnvCommandOfTheCluster(t *testing.T) {
	for name, want := range map[string]string{
		"bulkhead":        `eval "$(make env)"`,
		"bulkhead-second": `eval "$(go run ./kind/cmd/refcluster env --name=bulkhead-second)"`,
	} {
		if got := envOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestHardeningOfACluster(t *testing.T) {
	all := refcluster.AllHardening()
	for _, tc := range []struct {
		name          string
		plain, chosen bool
		off           []string
		is            int
	}{
		{"all settings by default", false, false, nil, len(all)},
		{"an empty list turns nothing off", false, true, []string{}, len(all)},
		{"one is off", false, true, []string{"tls"}, len(all) - 1},
		{"all are off", false, true, []string{"all"}, 0},
		{"a plain cluster has the audit log", true, false, nil, 1},
		{"a plain cluster with all settings", true, true, []string{}, len(all)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := chooseHardening(tc.plain, tc.chosen, tc.off)
			if err != nil || len(got) != tc.is {
				t.Errorf("%v, error %v", got, err)
			}
		})
	}
	if got, err := chooseHardening(false, true, []string{"everything"}); err == nil {
		t.Errorf("a setting that does not exist was turned off: %v", got)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRuleModesAreMerged: a user may set one rule after a file with the settings of `bulkhead audit`.
func TestRuleModesAreMerged(t *testing.T) {
	const record = `{"profile": "hardened", "beyondUpstream": {"ruleModes": {"NA-CSR-1": "off", "NA-OLD-1": "audit"}}}`
	type modes = map[string]string
	file := "--config=" + writeConfig(t, "rules: {modes: {NR-PODIP-1: off}}\n")
	for _, tc := range []struct {
		name  string
		args  []string
		want  modes
		fails string
	}{
		{"other rule", []string{"--rule-mode=NA-OLD-1=default,NR-CSR-2=audit"},
			modes{"NA-CSR-1": "off", "NR-CSR-2": "audit"}, ""},
		{"same rule", []string{"--rule-mode=NA-CSR-1=audit", "--rule-mode=NA-OLD-1=default"},
			modes{"NA-CSR-1": "audit"}, ""},
		{"default of every rule", []string{"--rule-mode=NA-CSR-1=default,NA-OLD-1=default"}, nil, ""},
		{"default of a rule without a mode", []string{"--rule-mode=NR-CSR-2=default,NA-OLD-1=default"},
			modes{"NA-CSR-1": "off"}, ""},
		{"empty value", []string{"--rule-mode="}, nil, ""},
		{"empty value, then a rule", []string{"--rule-mode=", "--rule-mode=NR-CSR-2=audit"}, modes{"NR-CSR-2": "audit"}, ""},
		{"a rule, then an empty value", []string{"--rule-mode=NR-CSR-2=audit", "--rule-mode="}, nil, ""},
		{"file", []string{file}, modes{"NR-PODIP-1": "off"}, ""},
		{"file and other rule", []string{file, "--rule-mode=NR-CSR-2=audit"},
			modes{"NR-PODIP-1": "off", "NR-CSR-2": "audit"}, ""},
		{"file and default of its rule", []string{file, "--rule-mode=NR-PODIP-1=default"}, nil, ""},
		{"file and empty value", []string{file, "--rule-mode="}, nil, ""},
		{"default of an unknown rule", []string{"--rule-mode=NA-NONE-1=default"}, nil, `unknown rule "NA-NONE-1"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _, err := resolve(t, stateOf(t, record), tc.args...)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("error %v, want %q", err, tc.fails)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got.Extensions.RuleModes); diff != "" || err != nil {
				t.Errorf("error %v; -want +got:\n%s", err, diff)
			}
		})
	}
}

// TestSharedRuleModes: all hosts share the settings of kubelet-auth-proxy, so a flag that is not about them
// leaves them as another host has set them.
func TestSharedRuleModes(t *testing.T) {
	for flag, want := range map[string]bool{
		"--rule-mode=NA-CSR-1=off": false, "--rule-mode=NR-CSR-2=default": false,
		"--rule-mode=NA-CSR-1=off,KA-EXEC-1=audit": true, "--rule-mode=KA-EXEC-1=default": true, "--rule-mode=": true,
	} {
		if got, _, err := resolve(t, t.TempDir(), flag); err != nil || got.ExtensionsSet != want {
			t.Errorf("%s: error %v, the settings of the proxies are set: %v, want %v", flag, err, got.ExtensionsSet, want)
		}
	}
}

func TestRuleModesAndAFileAreReported(t *testing.T) {
	file := "--config=" + writeConfig(t, "rules: {modes: {NR-PODIP-1: off}}\n")
	for flag, want := range map[string]string{
		"--rule-mode=NR-CSR-2=audit": "--rule-mode=NR-CSR-2=audit changes single rules of the configuration, which has " +
			"\"NR-PODIP-1=off\"\n",
		"--rule-mode=": "--rule-mode= overrides the configuration, which has \"NR-PODIP-1=off\"\n",
	} {
		if _, said, err := resolve(t, t.TempDir(), file, flag); err != nil || said != want {
			t.Errorf("%s: error %v, printed %q, want %q", flag, err, said, want)
		}
	}
}

func TestInvalidRuleMode(t *testing.T) {
	if err := new(ruleModes).Set("NA-CSR-1"); err == nil || !strings.Contains(err.Error(), `"NA-CSR-1": want ID=MODE`) {
		t.Errorf("error %v", err)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestExtensionModes(t *testing.T) {
	changed := nodeauthorizer.Modes(rules.Audit)
	changed["NA-CSR-1"], changed["NA-POD-6"] = rules.Off, rules.Enforce
	for _, tt := range []struct {
		name string
		args []string
		want extensions
	}{
		{"default: all rules are enforced", nil,
			extensions{modes: nodeauthorizer.Modes(rules.Enforce), grace: 30 * time.Second, credentialProviders: false}},
		{"everything can be off", []string{"--beyond-upstream=off"},
			extensions{modes: nodeauthorizer.Modes(rules.Off), grace: 30 * time.Second, credentialProviders: false}},
		{"single rules differ", []string{"--beyond-upstream=audit", "--rule-mode=NA-CSR-1=off,NA-POD-6=enforce"},
			extensions{modes: changed, grace: 30 * time.Second, credentialProviders: false}},
		{"single rules are named one by one",
			[]string{"--rule-mode=NA-CSR-1=off", "--rule-mode=NA-POD-6=enforce", "--beyond-upstream=audit"},
			extensions{modes: changed, grace: 30 * time.Second, credentialProviders: false}},
		{"the grace may be none", []string{"--terminated-pod-grace=0"},
			extensions{modes: nodeauthorizer.Modes(rules.Enforce), grace: 0, credentialProviders: false}},
		{"credential providers may be there", []string{"--credential-provider-tokens"},
			extensions{modes: nodeauthorizer.Modes(rules.Enforce), grace: 30 * time.Second, credentialProviders: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.extensions, cmp.AllowUnexported(extensions{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestEveryInvalidExtensionModeIsReported(t *testing.T) {
	_, err := parse("--beyond-upstream=on", "--rule-mode=NA-LEASE-1=off,NA-CSR-1=on,NA-X-1=off",
		"--terminated-pod-grace=-1s")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`--beyond-upstream: invalid mode "on"`, "--rule-mode: NA-LEASE-1 is always enforced",
		`--rule-mode: NA-CSR-1: invalid mode "on"`,
		`--rule-mode: there is no rule "NA-X-1"`, "--terminated-pod-grace is -1s, want 0 or more",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
}

// A rule that is off needs no watch.
func TestWatchedResourcesPerRuleMode(t *testing.T) {
	for mode, want := range map[rules.Mode]watches{
		rules.Off:     {grace: -1},
		rules.Audit:   {nodes: true, requests: true, claims: true, grace: time.Minute},
		rules.Enforce: {nodes: true, requests: true, claims: true, grace: time.Minute},
	} {
		got := syncOptions(&config{extensions: extensions{modes: nodeauthorizer.Modes(mode), grace: time.Minute}})
		if diff := cmp.Diff(want,
			watches{got.Nodes, got.CertificateSigningRequests, got.PersistentVolumeClaims, got.TerminatedPodGrace},
			cmp.AllowUnexported(watches{})); diff != "" {
			t.Errorf("%v (-want +got)\n%s", mode, diff)
		}
	}
}

type watches struct {
	nodes, requests, claims bool
	grace                   time.Duration
}

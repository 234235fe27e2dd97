// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
)

const beyondRecord = `{"beyondUpstream": {"mode": "audit", "ruleModes": {"NA-CSR-1": "off"}, ` +
	`"terminatedPodGrace": 60000000000, "credentialProviderTokens": true}}`

func TestReinstallKeepsOptionalRuleModes(t *testing.T) {
	minute, second, yes, no := time.Minute, time.Second, true, false
	for _, tc := range []struct {
		name, record string
		args         []string
		want         controlplane.Extensions
	}{
		{"a first run leaves all to the profile", "", nil, controlplane.Extensions{}},
		{"a run after an older version does too", `{"profile": "hardened"}`, nil, controlplane.Extensions{}},
		{"reinstall keeps the chosen modes", beyondRecord, nil,
			controlplane.Extensions{Mode: "audit", RuleModes: map[string]string{"NA-CSR-1": "off"},
				TerminatedPodGrace:       &minute,
				CredentialProviderTokens: &yes}},
		{"flags change only their own modes",
			beyondRecord, []string{"--beyond-upstream=enforce", "--terminated-pod-grace=1s"},
			controlplane.Extensions{Mode: "enforce", RuleModes: map[string]string{"NA-CSR-1": "off"},
				TerminatedPodGrace: &second, CredentialProviderTokens: &yes}},
		{"a rule mode keeps the modes of other rules", beyondRecord,
			[]string{"--rule-mode=NA-SA-3=audit", "--credential-provider-tokens=false"},
			controlplane.Extensions{Mode: "audit", RuleModes: map[string]string{"NA-CSR-1": "off", "NA-SA-3": "audit"},
				TerminatedPodGrace: &minute, CredentialProviderTokens: &no}},
		{"an empty value goes back to the profile", beyondRecord, []string{"--beyond-upstream=", "--rule-mode="},
			controlplane.Extensions{TerminatedPodGrace: &minute, CredentialProviderTokens: &yes}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var (
				common hostFlags
				given  extensionFlags
			)
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			common.add(fs)
			given.add(fs)
			common.layout.State = t.TempDir()
			if tc.record != "" {
				writeRecord(t, common.layout.State, tc.record)
			}
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			record, err := common.lastRecord()
			if diff := cmp.Diff(tc.want, extensions(fs, &given, record)); diff != "" || err != nil {
				t.Errorf("error %v; -want +got:\n%s", err, diff)
			}
		})
	}
}

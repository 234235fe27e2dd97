// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"encoding/json"
	"testing"
	"time"
)

// modeFlags are the same for every installation that enforces.
const modeFlags = " --mode=enforce --extend-token-expiration=false --node-restriction-failure-policy=Fail " +
	"--unknown-resources=audit-on-newer-kubernetes"

func TestCommand(t *testing.T) {
	const plain = "bulkhead install --profile=hardened --image='i:1' --cert-validity=1h0m0s --cert-renew-before=30m0s"
	read := func(record string) Installation {
		var in Installation
		if err := json.Unmarshal([]byte(record), &in); err != nil {
			t.Fatal(err)
		}
		return in
	}
	installed := read(`{"profile": "hardened", "image": "i:1",
		"certificates": {"validity": 3600000000000, "renewBefore": 1800000000000},
		"beyondUpstream": {"mode": "enforce", "ruleModes": {"NA-SA-3": "off", "NA-CSR-1": "audit"},
		"terminatedPodGrace": 5000000000, "credentialProviderTokens": true}}`)
	defaults := read(`{"profile": "hardened", "image": "i:1",
		"certificates": {"validity": 3600000000000, "renewBefore": 1800000000000}}`)
	for _, tc := range []struct {
		name string
		in   Installation
		want string
	}{
		{"in-tree uninstalls Bulkhead", Installation{Profile: InTree}, "bulkhead uninstall"},
		{"unset options stay unset", defaults, plain + modeFlags + " --beyond-upstream= --rule-mode="},
		{
			"set options are repeated", installed,
			plain + modeFlags + " --beyond-upstream=enforce --rule-mode= --rule-mode=NA-CSR-1=audit " +
				"--rule-mode=NA-SA-3=off --terminated-pod-grace=5s --credential-provider-tokens=true",
		},
		{
			"audit mode applies to all rules", installed.Auditing(time.Second),
			plain + modeFlags + " --beyond-upstream=audit --rule-mode= " +
				"--terminated-pod-grace=1s --credential-provider-tokens=true",
		},
		{
			"node scope options are repeated",
			read(`{"profile": "hardened", "image": "i:1",
				"certificates": {"validity": 3600000000000, "renewBefore": 1800000000000},
				"nodeScope": {"on": true, "customResources": "a.example.com=field:spec.node"}}`),
			plain + " --node-scope --node-scope-custom-resources='a.example.com=field:spec.node'" + modeFlags +
				" --beyond-upstream= --rule-mode=",
		},
		{"failure policy and unknown resources are repeated", read(`{"profile": "hardened", "image": "i:1",
			"beyondUpstream": {"ignoreFailures": true, "denyUnknownResources": true}}`),
			"bulkhead install --profile=hardened --image='i:1' --mode=enforce --extend-token-expiration=false " +
				"--node-restriction-failure-policy=Ignore --unknown-resources=deny --beyond-upstream= --rule-mode="},
		{"default grace period is explicit, to undo another one", defaults.Undoing(),
			plain + modeFlags + " --beyond-upstream= --rule-mode= --terminated-pod-grace=30s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.in.Command(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

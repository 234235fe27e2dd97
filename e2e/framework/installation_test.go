// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"encoding/json"
	"testing"
	"time"
)

func TestCommand(t *testing.T) {
	const plain = "bulkhead install --profile=hardened --image='i:1' --cert-validity=1h0m0s --cert-renew-before=30m0s"
	read := func(record string) Installation {
		var in Installation
		if err := json.Unmarshal([]byte(record), &in); err != nil {
			t.Fatal(err)
		}
		return in
	}
	told := read(`{"profile": "hardened", "image": "i:1", "certificates": {"validity": 3600000000000, "renewBefore": 1800000000000},
		"beyondUpstream": {"mode": "enforce", "ruleModes": {"NA-SA-3": "off", "NA-CSR-1": "audit"},
		"terminatedPodGrace": 5000000000, "credentialProviderTokens": true}}`)
	untold := read(`{"profile": "hardened", "image": "i:1", "certificates": {"validity": 3600000000000, "renewBefore": 1800000000000}}`)
	for _, tc := range []struct {
		name string
		in   Installation
		want string
	}{
		{"nothing of ours is removed", Installation{Profile: InTree}, "bulkhead uninstall"},
		{"what was left to the profile is left to it", untold, plain + " --beyond-upstream= --rule-mode="},
		{
			"what was said is said again", told,
			plain + " --beyond-upstream=enforce --rule-mode=NA-CSR-1=audit,NA-SA-3=off --terminated-pod-grace=5s " +
				"--credential-provider-tokens=true",
		},
		{
			"an audit is one of all rules", told.Auditing(time.Second),
			plain + " --beyond-upstream=audit --rule-mode= --terminated-pod-grace=1s --credential-provider-tokens=true",
		},
		{
			"node scope is said again",
			read(`{"profile": "hardened", "image": "i:1", "certificates": {"validity": 3600000000000, "renewBefore": 1800000000000},
				"nodeScope": {"on": true, "customResources": "a.example.com=field:spec.node"}}`),
			plain + " --node-scope --node-scope-custom-resources='a.example.com=field:spec.node' --beyond-upstream= --rule-mode=",
		},
		{"a grace that nobody chose is named to undo another", untold.Undoing(),
			plain + " --beyond-upstream= --rule-mode= --terminated-pod-grace=30s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.in.Command(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestPolicy(t *testing.T) {
	exec := Request{Method: "GET", Path: "/exec/ns/pod/c", Upgrade: true}
	attach := Request{Method: "GET", Path: "/attach/ns/pod/c", Upgrade: true}
	post := Request{Method: "POST", Path: "/pods"}
	logs := Request{Method: "GET", Path: "/containerLogs/ns/pod/c"}
	upgraded := Request{Method: logs.Method, Path: logs.Path, Upgrade: true}
	set := func(mode rules.Mode) map[rules.ID]rules.Mode { return map[rules.ID]rules.Mode{RuleExec: mode} }
	noUpgrade := func(mode rules.Mode) map[rules.ID]rules.Mode { return map[rules.ID]rules.Mode{RuleUpgrade: mode} }
	neither := map[rules.ID]rules.Mode{RuleUpgrade: rules.Audit, RuleContainerLogs: rules.Audit}
	const compatExec, strictExec, none = "KA-PROXY-1: get proxy", "KA-EXEC-1: create exec", ": "
	for _, tc := range []struct {
		name              string
		policy            *Policy
		r                 Request
		enforced, audited string
	}{
		{"strict enforces", NewPolicy(Strict, nil), exec, strictExec, none},
		{"compat does not", NewPolicy(Compat, nil), exec, compatExec, none},
		{"off in strict is the kubelet's mapping", NewPolicy(Strict, set(rules.Off)), exec, compatExec, none},
		{"and leaves the next rule", NewPolicy(Strict, set(rules.Off)), attach, "KA-ATTACH-1: create attach", none},
		{"audit in strict is both", NewPolicy(Strict, set(rules.Audit)), exec, compatExec, strictExec},
		{"audit in compat is both", NewPolicy(Compat, set(rules.Audit)), exec, compatExec, strictExec},
		{"enforce in compat is enforced", NewPolicy(Compat, set(rules.Enforce)), exec, strictExec, none},
		{"and leaves the next rule", NewPolicy(Compat, set(rules.Enforce)), attach, compatExec, none},
		{"path without a rule follows the mode", NewPolicy(Strict, set(rules.Off)), post, "KA-POD-1: create pods", none},
		{"logs need their own right", NewPolicy(Strict, noUpgrade(rules.Off)), logs, "KA-CLOG-1: get containerlogs", none},
		{"with an upgrade, too", NewPolicy(Strict, noUpgrade(rules.Off)), upgraded, "KA-CLOG-1: get containerlogs", none},
		{"and where the upgrade is audited", NewPolicy(Strict, noUpgrade(rules.Audit)), upgraded,
			"KA-CLOG-1: get containerlogs", "KA-UPGRADE-1: create containerlogs"},
		{"an upgrade of a short answer is a stream", NewPolicy(Strict, noUpgrade(rules.Off)),
			Request{Method: "GET", Path: "/pods", Upgrade: true}, "KA-POD-1: get pods, get proxy", none},
		{"and in audit both", NewPolicy(Strict, neither), upgraded, "KA-PROXY-1: get proxy",
			"KA-UPGRADE-1: create containerlogs"},
		{"in either", NewPolicy(Compat, set(rules.Enforce)), post, "KA-POD-1: create pods, create proxy", none},
	} {
		t.Run(tc.name, func(t *testing.T) {
			enforced, audited, refusal := tc.policy.Map(tc.r)
			if tc.r.Upgrade && !enforced.Streams {
				t.Error("it is not a stream")
			}
			if refusal != nil || written(enforced) != tc.enforced || written(audited) != tc.audited {
				t.Errorf("%q, audited %q, %+v; want %q, audited %q", written(enforced), written(audited), refusal, tc.enforced,
					tc.audited)
			}
		})
	}
}

func TestPolicyRejectsUncleanPaths(t *testing.T) {
	policy := NewPolicy(Compat, rules.Modes(Rules, rules.Off))
	_, _, refusal := policy.Map(Request{Method: "GET", Path: "//exec"})
	if refusal == nil || refusal.Rule != RulePathEmptySegment {
		t.Errorf("refusal is %+v", refusal)
	}
}

func TestModeOf(t *testing.T) {
	strict, compat := NewPolicy(Strict, nil), NewPolicy(Compat, map[rules.ID]rules.Mode{RuleVAP: rules.Enforce})
	for _, tc := range []struct {
		policy *Policy
		id     rules.ID
		want   rules.Mode
	}{
		{strict, RuleVAP, rules.Enforce},
		{compat, RuleVAP, rules.Enforce},
		{compat, RuleExec, rules.Off},
		{strict, RuleAudience, rules.Audit},
		{compat, RuleAudience, rules.Off},
		{compat, RuleLoopback, rules.Enforce},
	} {
		if got := tc.policy.ModeOf(tc.id); got != tc.want {
			t.Errorf("%s in %v is %v, want %v", tc.id, tc.policy.mode, got, tc.want)
		}
	}
}

func TestParseMode(t *testing.T) {
	for text, mode := range map[string]Mode{"compat": Compat, "strict": Strict} {
		if got, err := ParseMode(text); got != mode || got.String() != text || err != nil {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "Strict", "strict ", "parity"} {
		if got, err := ParseMode(text); err == nil || got != Strict {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

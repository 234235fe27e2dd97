// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import "testing"

const (
	noReadText   = "no relationship found (not confirmed by a live read: the API server did not answer in time) [NA-PV-1]"
	noLookupText = "cannot look up nodes: the API server has not answered within 1s [NR-NODE-1]"
	nodeBudget   = "no relationship found (not confirmed by a live read: the node's budget of reads is spent) [NA-PV-1]"
)

func TestUnanswered(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       bool
	}{
		{"denial of node-authorizer without a read in time", noReadText, true},
		{"error of node-restriction without a lookup in time", noLookupText, true},
		{"node used up its reads", nodeBudget, false},
		{"denial by a rule", "no relationship found [NA-PV-1]", false},
		{"error of a lookup", "cannot look up nodes: forbidden [NR-NODE-1]", false},
		{"authorizer without an answer in time", `Post "https://127.0.0.1:10461/authorize?timeout=3s": ` +
			`context deadline exceeded`, true},
		{"admission webhook without an answer in time", `failed to call webhook: Post "https://127.0.0.1:10463/validate` +
			`?timeout=2s": context deadline exceeded`, true},
		{"admission webhook without a whole answer in time", "failed to call webhook: unexpected error when reading " +
			"response body. Please retry. Original error: context deadline exceeded", true},
		{"a request of a client without an answer in time", "Get: context deadline exceeded", false},
		{"dead webhook", `Post "https://127.0.0.1:10463/validate?timeout=2s": dial tcp: connection refused`, false},
		{"no text", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Unanswered(tc.text); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestLateAnswers(t *testing.T) {
	const byNode, byRule = "node: can only get their own", "can only get their own [NA-POD-2]"
	const lateWebhook = `Post "https://127.0.0.1:10461/authorize?timeout=3s": context deadline exceeded`
	for _, tc := range []struct {
		name   string
		answer Answer
		want   bool
	}{
		{"denial without a read in time: late", Answer{Code: 403, Message: noReadText}, true},
		{"error without a lookup in time: late", Answer{Code: 500, Message: noLookupText}, true},
		{"node used up its reads: not late", Answer{Code: 403, Message: nodeBudget}, false},
		{"review without an answer in time, the Node authorizer denies: late", Answer{Code: 403,
			Message: byRule, Reason: byNode, ReviewError: lateWebhook}, true},
		{"review without an answer in time, the Node authorizer allows: late", Answer{Code: 200, Allowed: true,
			ReviewError: lateWebhook}, true},
		{"the Node authorizer denies what a rule denies: late", Answer{Code: 403, Message: "forbidden: " + byNode,
			Reason: byRule}, true},
		{"the Node authorizer denies, and no rule decides: not late", Answer{Code: 403, Message: "forbidden: " + byNode,
			Reason: byNode}, false},
		{"denial by a rule: not late", Answer{Code: 403, Message: "no relationship found [NA-PV-1]"}, false},
		{"rejection by a rule: not late", Answer{Code: 404, Message: "pod not found [NR-POD-1]"}, false},
		{"in-tree authorizer without the objects: late", Answer{Code: 403, Message: "no relationship found"}, true},
		{"in-tree admission without the objects: late", Answer{Code: 404, Message: "pod not found"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := isLate(tc.answer, 403, false); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestFalselyRefused(t *testing.T) {
	own, behind := Claim{By: "NR-POD-1"}, Claim{By: Behind}
	off := Claim{By: "NR-NODE-6", Off: Behind}
	for _, tc := range []struct {
		name, message string
		claim         Claim
		profile       Profile
		want          bool
	}{
		{"node-restriction: yes", "no [NR-POD-1]", own, Hardened, true},
		{"node-authorizer: yes", "no [NA-POD-1]", own, Hardened, true},
		{"node scope, another authorizer allows: yes", "no [NS-POD-1]", behind, Hardened, true},
		{"node-authorizer, another authorizer allows: no", "no [NA-DEFAULT]", behind, Hardened, false},
		{"node-authorizer, rule off, several API servers: no", "no [NA-DEFAULT]", off, Any, false},
		{"node-authorizer, rule off, one API server: yes", "no [NA-DEFAULT]", off, Hardened, true},
		{"in-tree: no", "no relationship found", own, Hardened, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := falselyRefused(Answer{Code: 403, Message: tc.message}, tc.claim, tc.profile); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

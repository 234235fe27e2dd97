// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"testing"

	"github.com/onsi/gomega/types"
)

func TestDeniedByBulkhead(t *testing.T) {
	const reason = "no relationship found between node 'a' and this object [NA-SECRET-1]"
	const noAnswer = "no relationship found between node 'a' and this object (not confirmed by a live read: the API " +
		"server did not answer in time) [NA-SECRET-1]"
	for _, tc := range []struct {
		name   string
		answer Answer
		want   bool
	}{
		{"a refusal with an ID is", Answer{Code: 403, Message: reason, Reason: reason}, true},
		{"a refusal with an ID that a later review takes back is",
			Answer{Code: 403, Message: reason, Allowed: true, Reason: "[NA-SECRET-1]"}, true},
		{"a review that refuses is", Answer{Code: 200, Reason: reason}, true},
		{"admission's is not", Answer{Code: 403, Message: "pod not found", Allowed: true, Reason: "[NA-SA-2]"}, false},
		{"upstream's is not", Answer{Code: 403, Message: "node: no relationship found",
			Reason: "node: no relationship found"}, false},
		{"a denial after a lookup without an answer is not", Answer{Code: 403, Message: noAnswer, Reason: noAnswer}, false},
		{"a denial is, also if the lookup of its review has no answer",
			Answer{Code: 403, Message: reason, Reason: noAnswer}, true},
		{"an allowance is not", Answer{Code: 200, Allowed: true, Reason: "[NA-SECRET-1]"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.answer.DeniedByBulkhead(); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	const rule, text = "NA-LEASE-3", "can only access node lease"
	refusal := Answer{Code: 403, Message: "forbidden: " + text + " [NA-LEASE-3]", Reason: text + " [NA-LEASE-3]"}
	upstream := Answer{Code: 403, Message: "forbidden: node: " + text, Reason: "node: " + text}
	allowance := Answer{Code: 200, Allowed: true, Reason: "[NA-LEASE-3]"}
	byNode := Answer{Code: 200, Allowed: true}
	byRBAC := Answer{Code: 200, Allowed: true, Reason: `RBAC: allowed by ClusterRoleBinding "all"`}
	for _, tc := range []struct {
		name    string
		outcome types.GomegaMatcher
		answer  Answer
		want    bool
	}{
		{"a denial with a rule ID is Bulkhead's", ForbiddenBy(Hardened, rule, text), refusal, true},
		{"another rule's refusal is not", ForbiddenBy(Hardened, "NA-LEASE-1", text), refusal, false},
		{"another text is not", ForbiddenBy(Hardened, rule, "something else"), refusal, false},
		{"a refusal without an ID is not", ForbiddenBy(Hardened, rule, text), upstream, false},
		{"on in-tree it is", ForbiddenBy(InTree, rule, text), upstream, true},
		{"401 is not a denial", ForbiddenBy(InTree, rule, ""), Answer{Code: 401}, false},
		{"what a review allows is not refused", ForbiddenBy(InTree, rule, ""), Answer{Code: 403, Allowed: true}, false},

		{"an allowance with a rule ID is Bulkhead's", AllowedBy(Hardened, rule), allowance, true},
		{"another rule's allowance is not", AllowedBy(Hardened, "NA-LEASE-1"), allowance, false},
		{"the floor's is not", AllowedBy(Hardened, rule), byNode, false},
		{"RBAC's is not", AllowedBy(Parity, rule), byRBAC, false},
		{"on in-tree the Node authorizer's is", AllowedBy(InTree, rule), byNode, true},
		{"on in-tree RBAC's is not", AllowedBy(InTree, rule), byRBAC, false},
		{"an allowance by RBAC is from behind Bulkhead", AllowedBy(Hardened, Behind), byRBAC, true},
		{"an allowance with a rule ID is not from behind Bulkhead", AllowedBy(Hardened, Behind), allowance, false},
		{"what is missing did not succeed", AllowedBy(InTree, rule), Answer{Code: 404, Allowed: true}, false},
		{"unless it may be missing", AllowedBy(InTree, rule),
			Answer{Code: 404, Allowed: true, Request: Get(pods).OrMissing()}, true},
		{"what admission refuses did not succeed", AllowedBy(Hardened, rule),
			Answer{Code: 403, Allowed: true, Reason: "[NA-LEASE-3]"}, false},
		{"a question needs no request", AllowedBy(Hardened, Behind),
			Answer{Allowed: true, Reason: "RBAC: so", Request: Ask("sign", pods)}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.outcome.Match(tc.answer)
			if err != nil || got != tc.want {
				t.Errorf("got %v, %v; want %v", got, err, tc.want)
			}
		})
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestUnwatched(t *testing.T) { runTwins(t, unwatchedTwins()) }

func unwatchedTwins() []twins {
	var all []twins
	for _, tc := range []struct {
		resource, name, class string
		by                    rules.Rule
	}{
		{"secrets", "my-secret", "NA-SECRET", secretUnwatched},
		{"configmaps", "my-configmap", "NA-CM", configMapUnwatched},
	} {
		for _, verb := range []string{"list", "watch"} {
			refused := request{Verb: verb, Resource: tc.resource, Namespace: "ns", Name: tc.name}
			allowed := refused
			allowed.Verb = "get"
			all = append(all, twins{
				name: "a " + verb + " of its pod's " + tc.resource, refused: refused, allowed: allowed, by: tc.by, text: noWatch,
				bare: "[" + tc.class + "-2]", bareTwin: "[" + tc.class + "-1]",
			})
		}
	}
	return all
}

// The default kubelet watches secrets. So enforcing all rules must not enforce these rules, unless
// they are named.
func TestUnwatchedIsEnforcedOnlyByName(t *testing.T) {
	watch := request{Verb: "watch", Resource: "secrets", Namespace: "ns", Name: "my-secret"}
	for _, tc := range []struct {
		name  string
		modes map[rules.ID]rules.Mode
		want  authorizer.Decision
	}{
		{"everything enforced", Modes(rules.Enforce), authorizer.DecisionAllow},
		{"enforced by name", map[rules.ID]rules.Mode{"NA-SECRET-3": rules.Enforce}, authorizer.DecisionDeny},
		{"the other enforced by name", map[rules.ID]rules.Mode{"NA-CM-3": rules.Enforce}, authorizer.DecisionAllow},
		{"enforced by name, and another rule in audit",
			map[rules.ID]rules.Mode{"NA-SECRET-3": rules.Enforce, "NA-NODE-4": rules.Audit}, authorizer.DecisionDeny},
	} {
		asked := complete(watch)
		if tc.modes["NA-NODE-4"] == rules.Audit {
			asked.User = nodeNamed("stranger")
		}
		if got := decideIn(t, Strict, tc.modes, asked, &reader{}); got.Decision != tc.want {
			t.Errorf("%s: got %s", tc.name, cmp.Diff(tc.want, got.Decision))
		}
	}
}

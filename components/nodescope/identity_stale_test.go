// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// news is a [Confirmer] that adds the pod to pods when it is called.
type news struct {
	pods  map[string]Pod
	why   string
	asked []string
}

func (n *news) ConfirmPod(_ context.Context, node, namespace, name, uid string) string {
	n.asked = append(n.asked, node+" "+namespace+"/"+name+" "+uid)
	if n.pods != nil {
		n.pods["ns/agent-me"] = Pod{UID: "uid-me", NodeName: "me", RunsAs: "agent"}
	}
	return n.why
}

func TestStaleCacheDeniesNoRequest(t *testing.T) {
	secret := request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "my-secret"}
	for _, tc := range []struct {
		name   string
		late   func(map[string]Pod)
		finds  bool
		why    string
		who    user.Info
		passed bool
		reason string
		asked  int
	}{
		{"a pod that was made just now", func(p map[string]Pod) { delete(p, "ns/agent-me") }, true, "", agent(), true,
			"[NS-SCOPE-1]", 1},
		{"a pod that was replaced just now",
			func(p map[string]Pod) { p["ns/agent-me"] = Pod{UID: "old", NodeName: "me", RunsAs: "agent"} }, true, "", agent(),
			true, "[NS-SCOPE-1]", 1},
		{"a pod that is gone", func(p map[string]Pod) { delete(p, "ns/agent-me") }, false, "", agent(), false,
			"the pod of the token is not there [NS-IDENT-3]", 1},
		{"a pod that cannot be looked for", func(p map[string]Pod) { delete(p, "ns/agent-me") }, false,
			"the API server does not answer", agent(), false,
			"the pod of the token is not there (the API server does not answer) [NS-IDENT-3]", 1},
		{"no reader for pods", func(p map[string]Pod) { delete(p, "ns/agent-me") }, true, "",
			edited(map[string][]string{nodeName: nil, nodeUID: nil}), false,
			"the pod of the token is not there [NS-IDENT-3]", 0},
		{"a pod that is known", func(map[string]Pod) {}, true, "", agent(), true, "[NS-SCOPE-1]", 0},
		{"a pod that is elsewhere", func(map[string]Pod) {}, true, "", edited(map[string][]string{nodeName: {"other"}}),
			false,
			"the token names another node than the one that its pod is on [NS-IDENT-4]", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := clusterOf(Account{Scope: mustScope(t, "secrets")})
			tc.late(c.pods)
			confirmer := &news{why: tc.why}
			if tc.finds {
				confirmer.pods = c.pods
			}
			z := newOver(t, c)
			z.Confirmer = confirmer
			decision, reason, _ := z.Authorize(t.Context(), row{who: tc.who, asks: secret}.complete())
			if (decision == authorizer.DecisionNoOpinion) != tc.passed || reason != tc.reason {
				t.Errorf("got %v, %q, want %q", decision, reason, tc.reason)
			}
			if len(confirmer.asked) != tc.asked || tc.asked > 0 && confirmer.asked[0] != "me ns/agent-me uid-me" {
				t.Errorf("asked for %v", confirmer.asked)
			}
		})
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

func TestIdentity(t *testing.T) { run(t, identityRows()) }

// ownNode is a write that the usual pod may make.
func ownNode(who user.Info) admission.Attributes {
	return by(who, admission.Update, "nodes/status", aNode("me"), aNode("me"))
}

func claiming(key string, values ...string) user.Info {
	who := tokenOf("agent", "agent-me", "me")
	who.Extra[key] = values
	return who
}

func identityRows() []row {
	const me = `nodes "me" is forbidden: `
	noPod := &user.DefaultInfo{Name: "system:serviceaccount:ns:agent"}
	const gone, others = "the pod of the token is not there [NS-IDENT-3]",
		"the pod of the token does not run as the account [NS-IDENT-3]"
	return []row{
		{name: "its own Node's status", write: ownNode(tokenOf("agent", "agent-me", "me"))},
		{name: "its own Node's status with the token of another node's pod",
			write: ownNode(tokenOf("agent", "agent-other", "other")), by: "NS-ADMIT-1",
			says: me + `node "other" is not allowed to modify node "me" [NR-NODE-1] [NS-ADMIT-1]`},
		{name: "its own Node's status with a token of no pod", write: ownNode(noPod), by: "NS-IDENT-2",
			says: me + "the token names no pod [NS-IDENT-2]"},
		{name: "its own Node's status with a token of no pod, its scope having none", scope: "pods", write: ownNode(noPod)},
		{name: "its own Node's status with a token of two pods", write: ownNode(claiming(podName, "agent-me", "agent-other")),
			by: "NS-IDENT-2", says: me + "the token's claims of its pod are incomplete [NS-IDENT-2]"},
		{name: "its own Node's status with a token of a pod that was deleted",
			write: ownNode(claiming(podName, "agent-gone")), by: "NS-IDENT-3", says: me + gone},
		{name: "its own Node's status with a token of a pod that was deleted, its scope having none", scope: "pods",
			write: ownNode(claiming(podName, "agent-gone")), by: "NS-IDENT-3", says: me + gone},
		{name: "its own Node's status with a token of the pod's predecessor", write: ownNode(claiming(podUID, "before")),
			by:   "NS-IDENT-3",
			says: me + "the pod of that name is not the one that the token was made for [NS-IDENT-3]"},
		{name: "its own Node's status with a token of a pod of another account",
			write: ownNode(tokenOf("agent", "free-me", "me")), by: "NS-IDENT-3", says: me + others},
		{name: "its own Node's status with a token of a mirror pod", write: ownNode(tokenOf("agent", "mirror-me", "me")),
			by: "NS-IDENT-3", says: me + others},
		{name: "its own Node's status with a token that names another node", write: ownNode(claiming(nodeName, "other")),
			by:   "NS-IDENT-4",
			says: me + "the token names another node than the one that its pod is on [NS-IDENT-4]"},
		{name: "its own Node's status with a token of a pod on no node",
			write: ownNode(tokenOf("agent", "agent-pending", "me")), by: "NS-IDENT-4",
			says: me + "the pod of the token is bound to no node [NS-IDENT-4]"},
		{name: "another Node's status, its account having no scope",
			write: by(tokenOf("free", "free-me", "me"), admission.Update, "nodes/status", aNode("other"), aNode("other"))},
		{name: "another Node's status, only its pod having a scope",
			write: by(tokenOf("free", "marked-me", "me"), admission.Update, "nodes", aNode("other"), aNode("other")),
			by:    "NS-ADMIT-1",
			says:  `nodes "other" is forbidden: node "me" is not allowed to modify node "other" [NR-NODE-1] [NS-ADMIT-1]`},
		{name: "a Node's status with a name without an account",
			write: ownNode(&user.DefaultInfo{Name: "system:serviceaccount:ns"}), by: "NS-IDENT-1",
			says: me + "the user name has no namespace and name of an account [NS-IDENT-1]"},
		{name: "a Node's status with the name of an account that is not known",
			write: ownNode(tokenOf("new", "agent-me", "me")), by: "NS-UNREADY",
			says: me + "the scope of the account is not known [NS-UNREADY]"},
	}
}

// If a look-up fails, a write to a resource with rules is denied. Before the whole cluster has
// been seen, every write is denied.
func TestUnready(t *testing.T) {
	away := func(c *Config) { c.Pods = cluster{err: errAway} }
	starting := func(c *Config) { c.Unready = func() string { return "has not yet seen the whole cluster" } }
	blind := func(c *Config) { c.Accounts, c.Unready = nil, nil }
	who := tokenOf("agent", "agent-me", "me")
	configMap := by(who, admission.Update, "configmaps", nil, nil)
	const text = `nodes "me" is forbidden: `
	for _, tc := range []struct {
		edit func(*Config)
		row
	}{
		{away, row{name: "a pod that cannot be read", write: ownNode(who), by: "NS-UNREADY",
			says: text + "the pod of the token cannot be read: " + errAway.Error() + " [NS-UNREADY]"}},
		{away, row{name: "a pod without a pod reader", write: configMap}},
		{starting, row{name: "a cluster that was not seen", write: ownNode(who), by: "NS-UNREADY",
			says: text + "node scope has not yet seen the whole cluster [NS-UNREADY]"}},
		{starting, row{name: "a cluster that was not seen, whatever is written", write: configMap, by: "NS-UNREADY",
			says: "configmaps is forbidden: node scope has not yet seen the whole cluster [NS-UNREADY]"}},
		{blind, row{name: "a reviewer without cluster state", write: ownNode(who), by: "NS-UNREADY",
			says: text + "node scope knows nothing of the cluster [NS-UNREADY]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.check(t, world(t, usualScope, "", tc.edit).Review(t.Context(), tc.write))
			// The same write is admitted when every look-up succeeds.
			row{}.check(t, world(t, usualScope, "").Review(t.Context(), tc.write))
		})
	}
}

// Review decides only the writes of accounts. The match condition of the webhook matches only
// accounts.
func TestOthersAreAdmitted(t *testing.T) {
	r := New(Config{})
	for _, who := range []user.Info{nil, &user.DefaultInfo{}, &user.DefaultInfo{Name: "admin"}, kubelet("me")} {
		row{}.check(t, r.Review(t.Context(), by(who, admission.Update, "nodes", aNode("other"), aNode("other"))))
	}
}

// For an account in audit mode, Review reports each denial and admits the write.
func TestAuditRefusesNothing(t *testing.T) {
	held, _ := nodescope.ParseScope(usualScope)
	audits := func(c *Config) { c.Accounts = accounts{"agent": {Scope: held, Audits: true}, "free": {Audits: true}} }
	refused := 0
	for _, row := range allRows() {
		if row.scope != "" || row.exemptions != "" {
			continue
		}
		enforced := row.reviewer(t).Review(t.Context(), row.write)
		got := world(t, "", "", audits).Review(t.Context(), row.write)
		if enforced.Rule == unready.ID || enforced.Rule == "NS-IDENT-1" {
			// An account that is not known cannot be in audit mode.
			if got.Rule != enforced.Rule {
				t.Errorf("%s: got %s, want %s", row.name, got.Rule, enforced.Rule)
			}
			continue
		}
		if !got.Allowed() || got.Rule != "" {
			t.Errorf("%s: refused by %s: %v", row.name, got.Rule, got.Reason())
		}
		if enforced.Allowed() {
			if len(got.Audited()) != len(enforced.Audited()) {
				t.Errorf("%s: told of %v, %v", row.name, got.Audited(), got.Annotations)
			}
			continue
		}
		refused++
		if len(got.Findings) == 0 {
			t.Errorf("%s: no finding, want %s", row.name, row.by)
			continue
		}
		last := got.Findings[len(got.Findings)-1]
		if last.Rule != row.by || last.Message == "" || !strings.Contains(row.says, last.Message) {
			t.Errorf("%s: finding %+v, want %s, %q", row.name, last, row.by, row.says)
		}
	}
	if refused < 20 {
		t.Errorf("only %d writes would have been refused", refused)
	}
	away := world(t, "", "", audits, func(c *Config) { c.Pods = cluster{err: errAway} }).Review(t.Context(),
		ownNode(tokenOf("agent", "agent-me", "me")))
	if !away.Allowed() || len(away.Audited()) != 1 || away.Audited()[0] != unready.ID {
		t.Errorf("a pod that cannot be read: %+v", away)
	}
}

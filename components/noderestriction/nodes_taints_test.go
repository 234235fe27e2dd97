// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestConfiguredTaints(t *testing.T) {
	const refused = `nodes "me" is forbidden: node "me" is not allowed to set the following taints: %s [NR-TAINT-1]`
	run(t, withPolicy(t, newHere(), `allowedTaints: [foo, "insecure.*"]`), []row{
		{"a listed key may be set", register(tainted(aTaint("foo", "v", "NoSchedule"), aTaint("foo", "v", "NoExecute"))), "",
			0, ""},
		{"a key with a listed beginning may be set", register(tainted(aTaint("insecure.x", "", "NoSchedule"))), "", 0, ""},
		{"taint that the API server adds: allowed", register(tainted(aTaint(corev1.TaintNodeNotReady, "", "NoSchedule"),
			aTaint(corev1.TaintNodeUnschedulable, "", "NoSchedule"),
			aTaint("node.cloudprovider.kubernetes.io/uninitialized", "true", "NoSchedule"))), "", 0, ""},
		{"another key is refused", register(tainted(aTaint("bar", "", "NoSchedule"))), "NR-TAINT-1", 0,
			fmt.Sprintf(refused, "bar")},
		{"another condition is refused", register(tainted(aTaint(corev1.TaintNodeUnreachable, "", "NoSchedule"))),
			"NR-TAINT-1", 0, fmt.Sprintf(refused, corev1.TaintNodeUnreachable)},
		{"a key is named once",
			register(tainted(aTaint("b", "", "NoSchedule"), aTaint("b", "", "NoExecute"), aTaint("a", "", "NoSchedule"))),
			"NR-TAINT-1", 0, fmt.Sprintf(refused, "a, b")},
	})
	run(t, withPolicy(t, newHere(), `allowedTaints: ["*"]`), []row{
		{"with all, any key may be set", register(tainted(aTaint("bar", "", "NoSchedule"))), "", 0, ""},
		{"allowedTaints *, reserved taint: denied",
			register(tainted(aTaint("node-restriction.kubernetes.io/x", "", "NoSchedule"))), "NR-TAINT-1", 0,
			fmt.Sprintf(refused, "node-restriction.kubernetes.io/x")},
	})
	run(t, withPolicy(t, newHere(), `allowedTaints: []`), []row{
		{"allowedTaints empty, taint that the API server adds: allowed",
			register(tainted(aTaint(corev1.TaintNodeNotReady, "", "NoSchedule"))), "", 0, ""},
		{"allowedTaints empty, other taint: denied", register(tainted(aTaint("foo", "", "NoSchedule"))), "NR-TAINT-1", 0,
			fmt.Sprintf(refused, "foo")},
	})
}

func TestStickyTaints(t *testing.T) {
	const (
		missing = `nodes "me" is forbidden: ` +
			`node "me" had taints that it must be registered with again: %s ` +
			`(give them to the kubelet, or have an administrator run: bulkhead taints clear me) [NR-STICKY-1]`
		policy = "stickyTaints: [compromised, \"dedicated*\"]\nallowedTaints: []"
	)
	bad, pii := aTaint("compromised", "yes", "NoSchedule"), aTaint("dedicated", "pii", "NoExecute")
	gone := newHere()
	gone.histories["me"] = NodeHistory{Taints: []corev1.Taint{bad, pii, aTaint("unmarked", "", "NoSchedule")}}
	gone.histories["other"] = NodeHistory{Taints: []corev1.Taint{bad}}
	run(t, withPolicy(t, gone, policy), []row{
		{"all recorded sticky taints: allowed", register(tainted(pii, bad)), "", 0, ""},
		{"without one it may not", register(tainted(bad)), "NR-STICKY-1", 0, fmt.Sprintf(missing, "dedicated=pii:NoExecute")},
		{"one recorded sticky taint missing: denied", register(), "NR-STICKY-1", 0,
			fmt.Sprintf(missing, "compromised=yes:NoSchedule, dedicated=pii:NoExecute")},
		{"dry run without the sticky taints: denied",
			write("me", admission.Create, "nodes", "", aNode("me"), nil, dry), "NR-STICKY-1",
			0, fmt.Sprintf(missing, "compromised=yes:NoSchedule, dedicated=pii:NoExecute")},
		{"recorded taint that is not sticky: denied", register(tainted(bad, pii, aTaint("unmarked", "", "NoSchedule"))),
			"NR-TAINT-1", 0,
			`nodes "me" is forbidden: node "me" is not allowed to set the following taints: unmarked [NR-TAINT-1]`},
	})
	sticky := "stickyTaints: [compromised, \"dedicated*\"]"
	run(t, withPolicy(t, gone, sticky), []row{
		{"another value is another taint", register(tainted(pii, aTaint("compromised", "no", "NoSchedule"))), "NR-STICKY-1",
			0, fmt.Sprintf(missing, "compromised=yes:NoSchedule")},
		{"another effect is another taint", register(tainted(pii, aTaint("compromised", "yes", "PreferNoSchedule"))),
			"NR-STICKY-1", 0, fmt.Sprintf(missing, "compromised=yes:NoSchedule")},
	})
	run(t, withPolicy(t, gone, "stickyTaints: []"), []row{{"no sticky taints configured: allowed", register(), "", 0, ""}})
	there := aCluster()
	there.histories = gone.histories
	run(t, withPolicy(t, there, policy), []row{
		{"node that already exists, with the taints: allowed", register(tainted(pii, bad)), "", 0, ""},
	})
	expectAlreadyExists(t, withPolicy(t, there, policy))
}

// expectAlreadyExists expects the API server's answer to a registration without the sticky taints while
// the Node exists. It may be deleted before the API server stores the new one.
func expectAlreadyExists(t *testing.T, r *Restriction) {
	t.Helper()
	got := r.Review(t.Context(), register())
	if got.Rule != "NR-STICKY-1" || got.Status == nil || got.Status.Reason != metav1.StatusReasonAlreadyExists ||
		got.Status.Message != `nodes "me" already exists [NR-STICKY-1]` {
		t.Errorf("without the taints: %q, %v", got.Rule, got.Status)
	}
	r.config.AuditOnly = true
	if got := r.Review(t.Context(), register()); !got.Allowed() || len(got.Findings) > 0 {
		t.Errorf("audit only: %v, findings %v", got.Reason(), got.Findings)
	}
}

func TestStickyTaintsThatAreNotKnown(t *testing.T) {
	failing := newHere()
	failing.err = errors.New("no answer")
	sticky := withPolicy(t, failing, "stickyTaints: [compromised]")
	const says = "looking up the taints of node \"me\" before: no answer [%s]"
	update := write("me", admission.Update, "nodes", "status", aNode("me"), aNode("me"))
	run(t, sticky, []row{
		{"a registration is put off", register(), "NR-STICKY-1", 500, fmt.Sprintf(says, "NR-STICKY-1")},
		{"a status is put off", update, "NR-STICKY-2", 500, fmt.Sprintf(says, "NR-STICKY-2")},
	})
	run(t, withPolicy(t, failing, ""), []row{
		{"no sticky taints configured, create: no lookup", register(), "", 0, ""},
		{"no sticky taints configured, update: no lookup", update, "", 0, ""},
	})
}

// A rule that audits denies nothing while the history cannot be read. The others deny only what depends on
// the history.
func TestAuditedStickyTaintsThatAreNotKnown(t *testing.T) {
	failing := newHere()
	failing.err = errors.New("no answer")
	const both, one = "allowedTaints: [free]\nstickyTaints: [compromised]", "stickyTaints: [compromised]"
	marked, unlisted := aTaint("compromised", "", "NoSchedule"), aTaint("other", "", "NoSchedule")
	for _, tc := range []struct {
		name, policy string
		audited      []rules.ID
		write        admission.Attributes
		by           rules.ID
	}{
		{"no taint", both, []rules.ID{"NR-STICKY-1"}, register(), ""},
		{"taint that the list has", both, []rules.ID{"NR-STICKY-1"}, register(tainted(aTaint("free", "", "NoSchedule"))), ""},
		{"taint that only the history may allow", both, []rules.ID{"NR-STICKY-1"}, register(tainted(unlisted)), "NR-TAINT-1"},
		{"sticky taint, whose number the history has", one, []rules.ID{"NR-STICKY-1"}, register(tainted(marked)),
			"NR-STICKY-3"},
		{"sticky taint, all in audit", one, []rules.ID{"NR-STICKY-1", "NR-STICKY-3"}, register(tainted(marked)), ""},
	} {
		config := withPolicy(t, failing, tc.policy).config
		config.Modes = map[rules.ID]rules.Mode{}
		for _, id := range tc.audited {
			config.Modes[id] = rules.Audit
		}
		got := New(config).Review(t.Context(), tc.write)
		if got.Rule != tc.by || !slices.Contains(got.Audited(), tc.audited[0]) {
			t.Errorf("%s: denied by %q, want %q; found %v", tc.name, got.Rule, tc.by, got.Audited())
		}
	}
}

// nodeLookupFails is a cluster that has the history, but whose lookups of Nodes fail.
type nodeLookupFails struct{ *fakeCluster }

func (nodeLookupFails) Node(context.Context, string) (*corev1.Node, error) {
	return nil, apierrors.NewForbidden(corev1.Resource("nodes"), "me", errors.New("no answer"))
}

func TestANodeThatCannotBeLookedUp(t *testing.T) {
	c := newHere()
	c.histories["me"] = NodeHistory{Taints: []corev1.Taint{aTaint("compromised", "", "NoSchedule")}}
	policy, err := configuration.Parse(
		[]byte("apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\nstickyTaints: [compromised]"))
	if err != nil {
		t.Fatal(err)
	}
	r := New(Config{Cluster: nodeLookupFails{c}, Features: DefaultFeatures(),
		Configuration: func() *configuration.Configuration { return policy }})
	run(t, r, []row{
		{"a registration without the taint is put off", register(), "NR-STICKY-1", 500,
			`looking up node "me": nodes "me" is forbidden: no answer [NR-STICKY-1]`},
		{"a registration with the taint needs no answer", register(tainted(aTaint("compromised", "", "NoSchedule"))), "", 0,
			""},
	})
}

func TestRecreatedNodeWithoutItsStickyTaint(t *testing.T) {
	bad := aTaint("compromised", "", "NoExecute")
	c := aCluster()
	c.histories["me"] = NodeHistory{Taints: []corev1.Taint{bad}, Absent: []corev1.Taint{bad}}
	update := func(taints ...corev1.Taint) admission.Attributes {
		return write("me", admission.Update, "nodes", "status", aNode("me", tainted(taints...)),
			aNode("me", tainted(taints...)))
	}
	run(t, withPolicy(t, c, "stickyTaints: [compromised]"), []row{
		{"it writes no status", update(), "NR-STICKY-2", 0,
			`nodes "me" is forbidden: ` +
				`node "me" was registered again without taints that it had: compromised:NoExecute ` +
				`(an administrator has to put them on the Node, or run: bulkhead taints clear me) [NR-STICKY-2]`},
		{"it does once the taint is back, though the memory is behind", update(bad), "", 0, ""},
	})
	run(t, withPolicy(t, c, "stickyTaints: [other]"), []row{{"it does once the key is not marked", update(), "", 0, ""}})
	c.histories["me"] = NodeHistory{Taints: []corev1.Taint{bad}, UID: "me-uid"}
	run(t, withPolicy(t, c, "stickyTaints: [compromised]"),
		[]row{{"taint removed from the Node itself: allowed", update(), "", 0, ""}})
	c.histories["me"] = NodeHistory{Taints: []corev1.Taint{bad}, UID: "before"}
	run(t, withPolicy(t, c, "stickyTaints: [compromised]"), []row{
		{"unrecorded Node, older record of the name: denied", update(), "NR-STICKY-2", 0,
			`nodes "me" is forbidden: ` +
				`node "me" was registered again without taints that it had: compromised:NoExecute ` +
				`(an administrator has to put them on the Node, or run: bulkhead taints clear me) [NR-STICKY-2]`},
		{"with its taint it is written", update(bad), "", 0, ""},
	})
}

func TestManyStickyTaints(t *testing.T) {
	many := func(n int) func(*corev1.Node) {
		return func(node *corev1.Node) {
			for i := range n {
				node.Spec.Taints = append(node.Spec.Taints, aTaint(fmt.Sprintf("pool/%d", i), "", "NoSchedule"))
			}
		}
	}
	plain := func(n int) func(*corev1.Node) {
		return func(node *corev1.Node) {
			for i := range n {
				node.Spec.Taints = append(node.Spec.Taints, aTaint(fmt.Sprintf("plain/%d", i), "", "NoSchedule"))
			}
		}
	}
	const (
		fresh = `nodes "me" is forbidden: ` +
			`node "me" is not allowed to set more than 16 taints that are not remembered of it [NR-STICKY-3]`
		marked = `nodes "me" is forbidden: ` +
			`node "me" is not allowed to set more than 16 taints that are marked as sticky, ` +
			`and %d of its own are remembered [NR-STICKY-3]`
	)
	c := newHere()
	r := withPolicy(t, c, `stickyTaints: ["pool/*"]`)
	run(t, r, []row{
		{"sixteen may be set", register(many(16)), "", 0, ""},
		{"seventeen may not", register(many(17)), "NR-STICKY-3", 0, fresh},
		{"unmarked ones would hide others", register(many(8), plain(9)), "NR-STICKY-3", 0, fresh},
		{"marked and unmarked, sixteen may be set", register(many(8), plain(8)), "", 0, ""},
		{"taints that the API server adds are not counted",
			register(many(16), tainted(aTaint(corev1.TaintNodeNotReady, "", "NoSchedule"))), "", 0, ""},
	})
	run(t, withPolicy(t, c, `allowedLabels: []`),
		[]row{{"no sticky taints configured: no limit", register(plain(100)), "", 0, ""}})
	remembered := aNode("me", many(40)).Spec.Taints
	c.histories["me"] = NodeHistory{Taints: remembered}
	run(t, r, []row{
		{"remembered ones are not counted", register(many(40)), "", 0, ""},
		{"beside them sixteen may be set", register(many(40), plain(16)), "", 0, ""},
	})
	c.histories["me"] = NodeHistory{Taints: remembered[:12], InitialTaints: remembered[:10]}
	run(t, r, []row{
		{"of its own, ten of which are remembered, six more may be set", register(many(18)), "", 0, ""},
		{"seven may not", register(many(19)), "NR-STICKY-3", 0, fmt.Sprintf(marked, 10)},
		{"unmarked ones may", register(many(12), plain(16)), "", 0, ""},
	})
	run(t, withPolicy(t, c, "stickyTaints: [other]"),
		[]row{{"taints that are no longer sticky are not counted", register(many(16)), "", 0, ""}})
}

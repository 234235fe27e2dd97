// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Each exemptable rule denies its write, unless that rule is exempted. The exemption of other rules
// makes no difference.
func TestExemptedRulesDenyNothing(t *testing.T) {
	aTaint := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoSchedule}}
	}
	cordon := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	note := func(n *corev1.Node) { n.Annotations = map[string]string{"example.com/x": "y"} }
	notePod := func(p *corev1.Pod) { p.Annotations = map[string]string{"example.com/x": "y"} }
	event := &corev1.Event{InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "me"}}
	event.Namespace, event.Name = "default", "e"
	writes := map[rules.ID]admission.Attributes{
		"NR-NODE-4":       updateNode("", unedited, aTaint),
		"NR-CORDON-1":     updateNode("", cordon, unedited),
		"NR-ANNOTATION-1": updateNode("", unedited, note),
		"NR-PODMETA-1":    updateStatus(samePod, notePod),
		"NR-EVENT-1":      write("me", admission.Create, "events", "", event, nil),
	}
	r := restrict(aCluster(), func(c *Config) { c.Modes = Modes(rules.Enforce) })
	for _, id := range Exemptable {
		a, ok := writes[id]
		if !ok {
			t.Errorf("no write is refused by %s", id)
			continue
		}
		if got := r.Review(t.Context(), a); got.Rule != id {
			t.Errorf("%s: refused by %q: %v", id, got.Rule, got.Reason())
		}
		if got := r.ReviewExempting(t.Context(), a, func(by rules.ID) bool { return by != id }); got.Rule != id {
			t.Errorf("%s: with all others lifted, refused by %q", id, got.Rule)
		}
		if got := r.ReviewExempting(t.Context(), a, func(by rules.ID) bool { return by == id }); !got.Allowed() {
			t.Errorf("%s: lifted, refused: %v", id, got.Reason())
		}
	}
}

// A rule that is not in Exemptable is never exempted.
func TestOnlyExemptableRulesAreExempted(t *testing.T) {
	r := restrict(aCluster(), func(c *Config) { c.Modes = Modes(rules.Enforce) })
	everything := func(rules.ID) bool { return true }
	for _, a := range []admission.Attributes{
		write("me", admission.Update, "nodes", "", aNode("other"), aNode("other")),
		write("me", admission.Delete, "pods", "", nil, aPod("default", "theirs", "other")),
		write("me", admission.Delete, "nodes", "", nil, aNode("me")),
		updateNode("", unedited, labelled("node-restriction.kubernetes.io/x", "y")),
	} {
		was, is := r.Review(t.Context(), a), r.ReviewExempting(t.Context(), a, everything)
		if was.Allowed() || is.Rule != was.Rule {
			t.Errorf("%s of %s %s: %q, lifted %q", a.GetOperation(), a.GetResource().Resource, a.GetName(), was.Rule, is.Rule)
		}
	}
}

func TestResourcesWithRules(t *testing.T) {
	for resource, kind := range kinds {
		want := resource != "secrets"
		plural := resource
		if resource == "events.events.k8s.io" {
			plural = "events"
		}
		if got := HasRules(kind.GroupVersion().WithResource(plural).GroupResource()); got != want {
			t.Errorf("%s: %v, want %v", resource, got, want)
		}
	}
}

// An exemption does not allow removing a sticky taint, which is the operator's quarantine. It also
// does not allow adding one, which would use the space for recorded taints.
func TestTaintExemptionKeepsStickyTaints(t *testing.T) {
	bad, plain, other := aTaint("compromised", "yes", "NoSchedule"), aTaint("termination", "", "NoSchedule"),
		aTaint("compromised", "no", "NoSchedule")
	marked := withPolicy(t, aCluster(), `stickyTaints: [compromised]`)
	taints := func(id rules.ID) bool { return id == "NR-NODE-4" }
	for _, tc := range []struct {
		name          string
		before, after []corev1.Taint
		admitted      bool
	}{
		{"one that is not marked comes", []corev1.Taint{bad}, []corev1.Taint{plain, bad}, true},
		{"one that is not marked goes", []corev1.Taint{bad, plain}, []corev1.Taint{bad}, true},
		{"one that is marked goes", []corev1.Taint{bad, plain}, []corev1.Taint{plain}, false},
		{"one that is marked comes", []corev1.Taint{plain}, []corev1.Taint{plain, bad}, false},
		{"one that is marked gets another value", []corev1.Taint{bad}, []corev1.Taint{other}, false},
	} {
		a := updateNode("", tainted(tc.before...), tainted(tc.after...))
		got := marked.ReviewExempting(t.Context(), a, taints)
		if got.Allowed() != tc.admitted || !tc.admitted && got.Rule != "NR-NODE-4" {
			t.Errorf("%s: %q, %v", tc.name, got.Rule, got.Reason())
		}
		if got := restrict(aCluster()).ReviewExempting(t.Context(), a, taints); !got.Allowed() {
			t.Errorf("%s, with none marked: %v", tc.name, got.Reason())
		}
		if got := marked.Review(t.Context(), a); got.Rule != "NR-NODE-4" {
			t.Errorf("%s, not lifted: %q", tc.name, got.Rule)
		}
	}
}

func TestTaintExemptionKeepsTaintsOfTheMachineTable(t *testing.T) {
	row, startup := aTaint("dedicated", "pii", "NoSchedule"), aTaint(configuration.StartupTaint, "", "NoSchedule")
	plain := aTaint("termination", "", "NoSchedule")
	listed := withPolicy(t, aCluster(),
		"machines:\n- {name: \"m*\", taints: [{key: dedicated, value: pii, effect: NoSchedule}]}")
	for _, tc := range []struct {
		name          string
		before, after []corev1.Taint
		admitted      bool
	}{
		{"another taint comes", []corev1.Taint{row}, []corev1.Taint{row, plain}, true},
		{"another taint goes", []corev1.Taint{row, plain}, []corev1.Taint{row}, true},
		{"the taint of the row goes", []corev1.Taint{row, plain}, []corev1.Taint{plain}, false},
		{"the taint of the row gets another value", []corev1.Taint{row},
			[]corev1.Taint{aTaint("dedicated", "web", "NoSchedule")}, false},
		{"the startup taint goes", []corev1.Taint{startup, row}, []corev1.Taint{row}, false},
		{"the startup taint comes", []corev1.Taint{row}, []corev1.Taint{row, startup}, false},
	} {
		got := listed.ReviewExempting(t.Context(), updateNode("", tainted(tc.before...), tainted(tc.after...)),
			func(id rules.ID) bool { return id == "NR-NODE-4" })
		if got.Allowed() != tc.admitted || !tc.admitted && got.Rule != "NR-NODE-4" {
			t.Errorf("%s: %q, %v", tc.name, got.Rule, got.Reason())
		}
	}
}

func TestByGateReachesEveryFeature(t *testing.T) {
	var got Features
	for _, on := range got.ByGate() {
		*on = true
	}
	want := Features{
		ServiceAccountNodeAudienceRestriction:          true,
		PodCertificateRequest:                          true,
		RecoverVolumeExpansionFailure:                  true,
		AllowInsecureKubeletCertificateSigningRequests: true,
		CSIVolumeHealth:                                true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

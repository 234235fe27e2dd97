// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// event returns an event of node worker-1.
func event(verb string, ref auditv1.ObjectReference, edits ...func(*auditv1.Event)) *auditv1.Event {
	ref.APIVersion = "v1"
	e := &auditv1.Event{
		TypeMeta: metav1.TypeMeta{Kind: "Event", APIVersion: "audit.k8s.io/v1"}, Stage: auditv1.StageResponseComplete,
		Verb: verb, ObjectRef: &ref, RequestURI: "/api/v1/" + ref.Resource, Annotations: map[string]string{},
		User: authenticationv1.UserInfo{Username: "system:node:worker-1", Groups: []string{"system:nodes"}},
	}
	for _, edit := range edits {
		edit(e)
	}
	return e
}

func annotation(key, value string) func(*auditv1.Event) {
	return func(e *auditv1.Event) { e.Annotations[key] = value }
}

func requestObject(o any) func(*auditv1.Event) {
	return func(e *auditv1.Event) {
		raw, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		e.RequestObject = &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON}
	}
}

func byUser(name string, groups ...string) func(*auditv1.Event) {
	return func(e *auditv1.Event) { e.User = authenticationv1.UserInfo{Username: name, Groups: groups} }
}

func denied(e *auditv1.Event) { e.ResponseStatus = &metav1.Status{Code: 403} }

func byRBAC(binding string) func(*auditv1.Event) {
	return annotation("authorization.k8s.io/reason",
		fmt.Sprintf(`RBAC: allowed by ClusterRoleBinding %q of ClusterRole "r" to Group "system:nodes"`, binding))
}

func logOf(t testing.TB, events ...*auditv1.Event) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}

// summary returns "RULE[?] N VERB RESOURCE" and the binding for each entry.
func summary(r *Report) string {
	var lines []string
	for _, e := range r.Entries() {
		mark := ""
		if e.Possible {
			mark = "?"
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s%s %d %s %s", e.Rule, mark, e.Requests, e.Request, e.Binding)))
	}
	return strings.Join(lines, "\n")
}

func readAudit(t *testing.T, policy *configuration.Configuration, strict bool, log string) (*Report, AuditLogStats) {
	t.Helper()
	var r Report
	l := NewAuditLog(&r, policy, strict)
	if err := l.Read(t.Context(), strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	return &r, l.Stats()
}

func TestAuditLog(t *testing.T) {
	nodes := auditv1.ObjectReference{Resource: "nodes", Name: "worker-1"}
	secrets := auditv1.ObjectReference{Resource: "secrets", Namespace: "ns", Name: "s"}
	kubelet := auditv1.ObjectReference{Resource: "nodes", Subresource: "proxy", Name: "worker-1"}
	mirror := auditv1.ObjectReference{Resource: "pods", Namespace: "kube-system"}
	failure := `[{"message":"needs create nodes/exec","policy":"kubelet-api.bulkhead.static.k8s.io"}]`
	for _, tc := range []struct {
		name   string
		event  *auditv1.Event
		parity bool
		want   string
	}{
		{"nothing to find", event("get", nodes), false, ""},
		{"would-refuse", event("create", nodes, annotation("node-restriction.bulkhead.dev/would-refuse",
			"a; b [NR-LABEL-1]; c [NR-TAINT-1]")), false, "NR-LABEL-1 1\nNR-TAINT-1 1"},
		{"would-refuse of node scope", event("create", nodes, annotation("node-scope.bulkhead.dev/would-refuse",
			"a [NR-NODE-1] [NS-ADMIT-1]")), false, "NS-ADMIT-1 1"},
		{"would-refuse of another webhook", event("get", nodes, annotation("x.example.com/would-refuse", "a [NR-NODE-1]")),
			false, ""},
		{"stale token", event("get", secrets, byUser("system:serviceaccount:ns:a"),
			annotation("authentication.k8s.io/stale-token", "subject: x, seconds after warning threshold: 9")), false,
			"stale-token 1"},
		{"allowed by RBAC", event("list", secrets, byRBAC("b")), false,
			`NA-SECRET-2 1 list secrets ClusterRoleBinding "b" of ClusterRole "r"`},
		{"allowed by RBAC, parity", event("list", secrets, byRBAC("b")), true, ""},
		{"allowed by RBAC, another resource", event("get", auditv1.ObjectReference{APIGroup: "apps", Resource: "daemonsets"},
			byRBAC("b")), false, `NA-DEFAULT 1 get daemonsets.apps ClusterRoleBinding "b" of ClusterRole "r"`},
		{"allowed by RBAC, left to RBAC by Bulkhead too", event("create", auditv1.ObjectReference{
			APIGroup: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, byRBAC("b")), false, ""},
		{"allowed by RBAC to a user who is not a node", event("list", secrets, byUser("alice"), byRBAC("b")), false, ""},
		{"denied today", event("list", secrets, byRBAC("b"), denied), false, ""},
		{"new Node with a label and a taint", event("create", nodes, requestObject(workerNode(label("example.com/rack"),
			func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: "NoSchedule"}} }))), false,
			"NR-LABEL-1 1\nNR-TAINT-1 1"},
		{"new Node as kubeadm configures it", event("create", nodes, requestObject(workerNode())), false, ""},
		{"new Node that node-restriction has reviewed", event("create", nodes, requestObject(workerNode(label("x"))),
			annotation("node-restriction.bulkhead.dev/audited-rules", "NR-LABEL-3")), false, ""},
		{"new Node without its object", event("create", nodes), false, ""},
		{"mirror pod", event("create", mirror, requestObject(mirrorPod(func(p *corev1.Pod) {
			p.Name, p.Annotations["example.com/a"] = "static-other", "x"
		}))), false, "NR-MIRROR-4 1\nNR-MIRROR-5 1"},
		{"mirror pod that needs only lookups", event("create", mirror, requestObject(mirrorPod(noEdit))), false,
			""},
		{"proxy of the API server", event("get", kubelet, byUser("alice")), false, "KA-VAP-1? 1"},
		{"proxy of the API server, with the policy in audit", event("get", kubelet, byUser("alice"),
			annotation("validation.policy.admission.k8s.io/validation_failure", failure)), false, "KA-VAP-1 1"},
		{"proxy of the API server, administrator", event("get", kubelet, byUser("admin", "system:masters")), false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, _ := readAudit(t, parsePolicy(t, hardenedPolicy(t)), !tc.parity, logOf(t, tc.event))
			if got := summary(r); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAuditLogStats(t *testing.T) {
	nodes := auditv1.ObjectReference{Resource: "nodes", Name: "worker-1"}
	log := logOf(t, event("create", nodes), event("create", nodes, requestObject(workerNode())),
		event("get", nodes, byUser("alice"))) + "not an event\n\n"
	_, stats := readAudit(t, nil, true, log)
	if stats.NodeCreates != 2 || stats.NodeObjects != 1 || stats.Unreadable != 1 || stats.Lines != 5 {
		t.Errorf("%+v", stats)
	}
	var r Report
	if err := NewAuditLog(&r, nil, true).Read(t.Context(), strings.NewReader("x\n")); err == nil ||
		!strings.Contains(err.Error(), "--audit-log-path") {
		t.Errorf("error %v", err)
	}
}

func TestStickyTaintsMayBeRecorded(t *testing.T) {
	policy := parsePolicy(t, []byte("apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\n"+
		"allowedTaints: []\nstickyTaints: [gpu]\n"))
	node := workerNode(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: "NoSchedule"}} })
	log := logOf(t, event("create", auditv1.ObjectReference{Resource: "nodes"}, requestObject(node)))
	if r, _ := readAudit(t, policy, true, log); summary(r) != "" {
		t.Errorf("got %s", summary(r))
	}
}

func TestCutAnnotationKeepsTheRuleOfEachText(t *testing.T) {
	got := splitRefusals("labels: a, b… [NR-TAINT-1]", "NR-LABEL-1,NR-TAINT-1")
	if len(got) != 2 || got[0].Rule != "NR-LABEL-1" || got[1].Rule != "NR-TAINT-1" || got[1].Message != "" {
		t.Errorf("got %+v", got)
	}
}

func noEdit(*corev1.Pod) {}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"encoding/json"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// eventLine returns the line of an event of a denied read, with edits.
func eventLine(t *testing.T, edits ...func(*auditv1.Event)) []byte {
	t.Helper()
	event := &auditv1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "audit.k8s.io/v1", Kind: "Event"}, Stage: auditv1.StageResponseComplete,
		Verb: "get", User: authenticationv1.UserInfo{Username: "system:node:a", Groups: []string{"system:nodes"}},
		ObjectRef:      &auditv1.ObjectReference{Resource: "secrets", Namespace: "n", Name: "s", APIVersion: "v1"},
		ResponseStatus: &metav1.Status{Code: 403},
		Annotations: map[string]string{"authorization.k8s.io/decision": "forbid",
			"authorization.k8s.io/reason": "no relationship found between node 'a' and this object [NA-SECRET-1]"},
	}
	for _, edit := range edits {
		edit(event)
	}
	line, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestExplainEvents(t *testing.T) {
	admitted := func(e *auditv1.Event) {
		e.Annotations = map[string]string{"authorization.k8s.io/decision": "allow",
			"authorization.k8s.io/reason": "[NA-NODE-2]"}
		e.Verb, e.ObjectRef = "patch", &auditv1.ObjectReference{Resource: "nodes", Name: "b", APIVersion: "v1"}
	}
	for _, row := range []struct {
		name string
		edit func(*auditv1.Event)
		want []string
	}{
		{"denied by node-authorizer", func(*auditv1.Event) {}, []string{"Request:     system:node:a get secrets n/s\n",
			"Decision:    denied at authorization\n", "Rule:        NA-SECRET-1\n", "must use secret n/s"}},
		{"denied by admission", func(e *auditv1.Event) {
			admitted(e)
			e.ResponseStatus.Message = `nodes "b" is forbidden: node "a" is not allowed to modify node "b"`
		}, []string{"Decision:    denied at admission\n", "Rule:        NR-NODE-1\n", "Kubernetes' own NodeRestriction"}},
		{"allowed by a rule, with a finding", func(e *auditv1.Event) {
			admitted(e)
			e.ResponseStatus.Code = 200
			e.Annotations["node-restriction.bulkhead.dev/would-refuse"] = "no [NR-LABEL-1]"
		}, []string{"Decision:    allowed at authorization\n", "Allowed by:  Bulkhead's node-authorizer\n", "NA-NODE-2",
			"Audited:     NR-LABEL-1 would have denied"}},
		{"allowed by RBAC", func(e *auditv1.Event) {
			e.ResponseStatus.Code = 200
			e.Annotations = map[string]string{"authorization.k8s.io/decision": "allow",
				"authorization.k8s.io/reason": `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "c" to User "u"`}
		}, []string{"Allowed by:  RBAC\n", `ClusterRoleBinding "b"`}},
		{"impersonated", func(e *auditv1.Event) {
			e.ImpersonatedUser = &authenticationv1.UserInfo{Username: "system:node:z", Groups: []string{"system:nodes"}}
		}, []string{"Request:     system:node:z get"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, err := ParseEvent(eventLine(t, row.edit))
			if err != nil {
				t.Fatal(err)
			}
			a, err := Explain(d)
			if err != nil {
				t.Fatal(err)
			}
			text := printed(t, a)
			for _, want := range row.want {
				if !strings.Contains(text, want) {
					t.Errorf("want %q in\n%s", want, text)
				}
			}
		})
	}
}

func TestAnEventHasItsSelector(t *testing.T) {
	line := eventLine(t, func(e *auditv1.Event) {
		e.Verb, e.RequestURI = "list", "/api/v1/pods?fieldSelector=spec.nodeName%3Da"
		e.ObjectRef = &auditv1.ObjectReference{Resource: "pods", APIVersion: "v1"}
	})
	d, err := ParseEvent(line)
	if err != nil || d.Request.FieldSelector != "spec.nodeName=a" {
		t.Fatalf("%v: %+v", err, d.Request)
	}
	if spec := d.Request.review().Spec.ResourceAttributes; spec.FieldSelector.RawSelector != "spec.nodeName=a" {
		t.Errorf("review: %+v", spec)
	}
}

func TestHostileEvents(t *testing.T) {
	whole := eventLine(t)
	for name, row := range map[string]struct {
		line []byte
		want string
	}{
		"truncated":     {whole[:len(whole)/2], "not an event"},
		"another kind":  {[]byte(`{"kind":"Pod","apiVersion":"v1"}`), "not an event"},
		"null":          {[]byte("null"), "not an event"},
		"deep":          {[]byte(strings.Repeat(`{"a":`, 20_000)), "not an event"},
		"two lines":     {append(append(whole, '\n'), whole...), "several lines"},
		"too long":      {make([]byte, 9<<20), "longer than 8 MiB"},
		"no user":       {eventLine(t, func(e *auditv1.Event) { e.User.Username = "" }), "has no user"},
		"no verb":       {eventLine(t, func(e *auditv1.Event) { e.Verb = "" }), "has no verb"},
		"nothing asked": {eventLine(t, func(e *auditv1.Event) { e.ObjectRef = nil }), "no resource and no path"},
		"before the decision": {eventLine(t, func(e *auditv1.Event) {
			e.Stage, e.Annotations = auditv1.StageRequestReceived, nil
		}), "before the decision"},
	} {
		if _, err := ParseEvent(row.line); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A line of 3 MB, with names that change a terminal.
	d, err := ParseEvent(eventLine(t, func(e *auditv1.Event) {
		e.ObjectRef.Name, e.RequestURI = "\x1b]0;x\a", strings.Repeat("x", 3<<20)
	}))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Explain(d)
	if err != nil || strings.ContainsAny(printed(t, a), "\x1b\a") {
		t.Errorf("%v: %q", err, printed(t, a))
	}
}

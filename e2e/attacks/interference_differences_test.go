// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// TestDifferencesOfVisits checks that the spec with random objects would see a difference of each kind.
func TestDifferencesOfVisits(t *testing.T) {
	visit := func(change func(*comparedVisit)) *comparedVisit {
		v := &comparedVisit{
			answers: []answered{{Request: "get secrets", Message: "no", Code: 403, Annotations: map[string]string{"a": "b"}}},
			calls:   []string{"get pods"},
		}
		change(v)
		return v
	}
	same := func(*comparedVisit) {}
	for _, tc := range []struct {
		name   string
		change func(*comparedVisit)
		want   int
	}{
		{"nothing", same, 0},
		{"code", func(v *comparedVisit) { v.answers[0].Code = 404 }, 1},
		{"message", func(v *comparedVisit) { v.answers[0].Message = "it exists" }, 1},
		{"audit annotation", func(v *comparedVisit) { v.answers[0].Annotations["a"] = "c" }, 1},
		{"one more call", func(v *comparedVisit) { v.calls = append(v.calls, "get nodes") }, 1},
		{"no call", func(v *comparedVisit) { v.calls = nil }, 1},
	} {
		if found := visit(same).differences(visit(tc.change)); len(found) != tc.want {
			t.Errorf("%s differs: found %q", tc.name, found)
		}
	}
}

// The HTTP client may send a request again on a new connection.
func TestAnnotateTakesTheLastEventOfEachRequest(t *testing.T) {
	event := func(id types.UID, stage auditv1.Stage, value string) auditv1.Event {
		reason := `allowed by ClusterRoleBinding "e2e-witness-` + string(id) + `" of User "e2e-witness"`
		return auditv1.Event{AuditID: id, Stage: stage,
			Annotations: map[string]string{"a": value, "reason": reason, "apiserver.latency.k8s.io/total": "1s"}}
	}
	events := []auditv1.Event{
		event("second", auditv1.StageResponseComplete, "cut off"), event("another", auditv1.StageResponseComplete, "another"),
		event("second", auditv1.StageResponseComplete, "answered"), event("first", auditv1.StageResponseComplete, "first"),
		event("third", auditv1.StageResponseStarted, "started"),
	}
	answers := make([]answered, 2)
	if err := annotate(answers, []types.UID{"first", "second"}, events); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"first", "answered"} {
		if got := answers[i].Annotations["a"]; got != want {
			t.Errorf("answer %d has the annotations of %q, want %q", i, got, want)
		}
		rest := map[string]string{"a": want, "reason": `allowed by ClusterRoleBinding "witness" of User "e2e-witness"`}
		if !maps.Equal(answers[i].Annotations, rest) {
			t.Errorf("answer %d has the annotations %v, want %v", i, answers[i].Annotations, rest)
		}
	}
	if err := annotate(answers, []types.UID{"first", "third"}, events); err == nil {
		t.Error("no error for a request whose audit event is not complete")
	}
}

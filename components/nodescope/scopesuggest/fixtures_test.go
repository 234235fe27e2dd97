// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var agent = scopelist.Account{Namespace: "ns", Name: "agent"}

// event is a permitted request of the account, from a pod on the node "me".
func event(uri, verb string, ref auditv1.ObjectReference) auditv1.Event {
	e := auditv1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "audit.k8s.io/v1", Kind: "Event"},
		Level:    auditv1.LevelMetadata, Stage: auditv1.StageResponseComplete, RequestURI: uri, Verb: verb,
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:ns:agent",
			Extra: map[string]authenticationv1.ExtraValue{
				"authentication.kubernetes.io/pod-name": {"agent-me"}, "authentication.kubernetes.io/pod-uid": {"uid"},
				"authentication.kubernetes.io/node-name": {"me"},
			}},
		Annotations: map[string]string{"authorization.k8s.io/decision": "allow"},
	}
	if ref != (auditv1.ObjectReference{}) {
		e.ObjectRef = &ref
	}
	return e
}

func lineOf(t *testing.T, e auditv1.Event) string {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + "\n"
}

func read(t *testing.T, log string) ([]Request, LogStats, error) {
	t.Helper()
	var seen []Request
	l := NewLog(agent)
	err := l.Read(strings.NewReader(log), func(r Request) { seen = append(seen, r) })
	return seen, l.Stats(), err
}

// nodes is a node authorizer. It allows a node to get objects named "mine", and to list with a
// selector on its own name.
type nodes struct{}

func (nodes) Decide(_ context.Context, a authorizer.Attributes) rules.Decision {
	if a.GetName() == "mine" || a.GetResource() == "events" {
		return rules.Decision{Effect: rules.Allow}
	}
	return rules.Decision{Rule: "NA-TEST-1", Message: "not a node's"}
}

func newSuggester() *Suggester {
	return New(agent, nodescope.Config{Node: nodes{}, Unready: func() string { return "" }})
}

func get(resource, name string) auditv1.Event {
	return event("/api/v1/namespaces/ns/"+resource+"/"+name, "get",
		auditv1.ObjectReference{Resource: resource, Namespace: "ns", Name: name, APIVersion: "v1"})
}

func asUser(e auditv1.Event, name, constraint string) auditv1.Event {
	e.ImpersonatedUser = &authenticationv1.UserInfo{Username: name}
	e.AuthenticationMetadata = &auditv1.AuthenticationMetadata{ImpersonationConstraint: constraint}
	return e
}

func wouldRefuse(e auditv1.Event) auditv1.Event {
	e.Annotations["node-scope.bulkhead.dev/would-refuse"] = "no [NS-ADMIT-1]"
	return e
}

func withoutPod(e auditv1.Event) auditv1.Event {
	e.User.Extra = nil
	return e
}

func ofGroup(e auditv1.Event, group string) auditv1.Event {
	e.ObjectRef.APIGroup = group
	return e
}

func of(e auditv1.Event, subresource string) auditv1.Event {
	e.ObjectRef.Subresource = subresource
	return e
}

func ofVerb(e auditv1.Event, verb string) auditv1.Event {
	e.Verb = verb
	return e
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The decisions that rows expect.
const (
	refused = rules.Deny
	allowed = rules.Allow
	passed  = rules.NoOpinion
)

// row is one request and its expected decision. The request leaves out the user, who is the node
// "me". A request without a path is a resource request. The name completes the sentence "a node
// that asks for …".
type row struct {
	name   string
	asks   request
	effect rules.Effect
	reason string
}

// answer is everything that Authorize returns.
type answer struct {
	Decision authorizer.Decision
	Reason   string
	Err      error
}

const unrelated = "no relationship found between node 'me' and this object "

// relations is a graph with the nodes "me" and "stranger". The same objects of each kind are
// related to both nodes. Each object has the name of its kind, so that a mix-up of kinds fails a
// test. The prefix says how it is related: "my-secret" as upstream, "ended-secret" through a pod
// that has ended, and so on. Only "me" has a Node object.
type relations struct{ options graph.Options }

func (v relations) Relation(node string, kind graph.Kind, namespace, name string) graph.Relation {
	how, object, _ := strings.Cut(name, "-")
	wantNamespace, want := "ns", kind.String()
	switch kind {
	case graph.PersistentVolume, graph.VolumeAttachment, graph.ResourceSlice, graph.CertificateSigningRequest:
		wantNamespace = ""
	case graph.ServiceAccountToken:
		want = graph.ServiceAccount.String() // tokens have the name of the account
	}
	if !isTestNode(node) || namespace != wantNamespace || object != want {
		return graph.Relation{Registered: v.Registered(node)}
	}
	is := v.related(how, kind)
	is.Registered = v.Registered(node)
	return is
}

func (relations) Registered(node string) bool { return node == "me" }

func isTestNode(node string) bool { return node == "me" || node == "stranger" }

// related applies a condition in each mode as the graph does.
func (v relations) related(how string, kind graph.Kind) graph.Relation {
	condition, mode := graph.Unconditional, rules.Off
	switch how {
	case "my":
	case "ended":
		condition, mode = graph.Ended, v.options.Ended
	case "unowned":
		condition, mode = graph.Unowned, v.options.Unowned
	case "tokenless":
		if kind == graph.ServiceAccountToken {
			condition, mode = graph.Unusable, v.options.Unusable
		}
	case "unread":
		if kind == graph.ServiceAccount {
			condition, mode = graph.Unusable, v.options.Unusable
		}
	default:
		return graph.Relation{}
	}
	if mode == rules.Off {
		condition = graph.Unconditional
	}
	return graph.Relation{Related: mode != rules.Enforce, Condition: condition}
}

func never() string { return "" }

// newIn returns an authorizer with [relations].
func newIn(mode Mode, features Features) *Authorizer {
	return New(Config{Mode: mode, Features: features, Relations: relations{}, Unready: never})
}

func theNode() user.Info { return nodeNamed("me") }

func nodeNamed(name string) user.Info {
	return &user.DefaultInfo{Name: "system:node:" + name, Groups: []string{"system:nodes", "system:authenticated"}}
}

func (r row) attributes() *request { return complete(r.asks) }

// complete sets the fields that rows leave out.
func complete(a request) *request {
	if a.User == nil {
		a.User = theNode()
	}
	a.ResourceRequest = a.Path == ""
	a.APIVersion = "v1"
	return &a
}

// selecting returns the requirements of one field selector.
func selecting(field string, op selection.Operator, value string) fields.Requirements {
	return fields.Requirements{{Field: field, Operator: op, Value: value}}
}

// run checks every row in both modes. Only the decision for a refused request differs.
func run(t *testing.T, rows []row) {
	t.Helper()
	runWith(t, DefaultFeatures(), rows)
}

func runWith(t *testing.T, features Features, rows []row) {
	t.Helper()
	want := map[Mode]map[rules.Effect]authorizer.Decision{
		Compat: {allowed: authorizer.DecisionAllow, refused: authorizer.DecisionNoOpinion,
			passed: authorizer.DecisionNoOpinion},
		Strict: {allowed: authorizer.DecisionAllow, refused: authorizer.DecisionDeny, passed: authorizer.DecisionNoOpinion},
	}
	for _, tc := range rows {
		t.Run(tc.name, func(t *testing.T) {
			for mode, decisions := range want {
				decision, reason, err := newIn(mode, features).Authorize(t.Context(), tc.attributes())
				got := answer{decision, reason, err}
				if diff := cmp.Diff(answer{decisions[tc.effect], tc.reason, nil}, got); diff != "" {
					t.Errorf("mode %v (-want +got):\n%s", mode, diff)
				}
			}
		})
	}
}

// allRows are the rows of all tables.
func allRows() []row {
	var rows []row
	for _, family := range [][]row{
		secretRows(), configMapRows(), relatedRows(), persistentVolumeClaimRows(), serviceAccountRows(),
		nodeRows(), podRows(), leaseRows(), csiNodeRows(), resourceSliceRows(), podCertificateRequestRows(),
		uniformRows(), passedRows(), defaultRows(),
	} {
		rows = append(rows, family...)
	}
	return rows
}

// ask returns one answer with its findings.
func ask(t *testing.T, z *Authorizer, a authorizer.Attributes) (answer, []rules.Finding) {
	t.Helper()
	d := z.Decide(t.Context(), a)
	var got answer
	got.Decision, got.Reason, got.Err = d.Parts()
	return got, d.Findings
}

func TestNoRule(t *testing.T) {
	for _, row := range []struct {
		request request
		want    string
	}{
		{request{Verb: "get", Resource: "deployments", APIGroup: "apps"},
			"no rule allows a node to get deployments.apps [NA-DEFAULT]"},
		{request{Verb: "get", Resource: "nodes", Subresource: "proxy"},
			"no rule allows a node to get nodes/proxy [NA-DEFAULT]"},
		{request{Verb: "get", Resource: "x", APIGroup: "apps", Subresource: "scale"},
			"no rule allows a node to get x.apps/scale [NA-DEFAULT]"},
		{request{}, "no rule allows a node to   [NA-DEFAULT]"},
	} {
		if got := noRule(nothingElse, &row.request); got.Reason() != row.want || got.Effect != rules.Deny {
			t.Errorf("%+v: %v, %q, want %q", row.request, got.Effect, got.Reason(), row.want)
		}
	}
}

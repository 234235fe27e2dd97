// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// request is short for what rows are made of. Rows leave out the user, who is
// the node "me", and that a request without a path is for a resource.
type request = authorizer.AttributesRecord

// row is one request and all that is to be said about it. The name finishes
// the sentence "a node that asks for …".
type row struct {
	name   string
	asks   request
	effect effect
	reason string
}

// answer is everything that Authorize returns.
type answer struct {
	Decision authorizer.Decision
	Reason   string
	Err      error
}

const unrelated = "no relationship found between node 'me' and this object "

// relations is a graph with one node, "me", to which one object of each kind is
// related. It is named after its kind, so that a mix-up of kinds shows.
type relations struct{}

func (relations) Reaches(node string, kind graph.Kind, namespace, name string) bool {
	wantNamespace := "ns"
	switch kind {
	case graph.PersistentVolume, graph.VolumeAttachment, graph.ResourceSlice:
		wantNamespace = ""
	}
	return node == "me" && namespace == wantNamespace && name == "my-"+kind.String()
}

func never() string { return "" }

// newIn returns an authorizer over [relations].
func newIn(mode Mode, features Features) *Authorizer {
	return New(Config{Mode: mode, Features: features, Relations: relations{}, Unready: never})
}

func theNode() user.Info {
	return &user.DefaultInfo{Name: "system:node:me", Groups: []string{"system:nodes", "system:authenticated"}}
}

// attributes completes a row's request.
func (r row) attributes() *request {
	a := r.asks
	if a.User == nil {
		a.User = theNode()
	}
	a.ResourceRequest = a.Path == ""
	a.APIVersion = "v1"
	return &a
}

// selecting makes the requirements of one field selector.
func selecting(field string, op selection.Operator, value string) fields.Requirements {
	return fields.Requirements{{Field: field, Operator: op, Value: value}}
}

// run tries every row in both modes: only what becomes of a refusal differs.
func run(t *testing.T, rows []row) {
	t.Helper()
	runWith(t, DefaultFeatures(), rows)
}

func runWith(t *testing.T, features Features, rows []row) {
	t.Helper()
	want := map[Mode]map[effect]authorizer.Decision{
		Compat: {allowed: authorizer.DecisionAllow, refused: authorizer.DecisionNoOpinion, passed: authorizer.DecisionNoOpinion},
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

// allRows are the rows of all families.
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

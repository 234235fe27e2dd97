// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// disguised hides the record, so that only the getters can read the attributes.
type disguised struct{ authorizer.Attributes }

func TestOtherAttributesGetTheAnswersOfTheirRecord(t *testing.T) {
	in := func(mode rules.Mode) *Authorizer {
		modes := Modes(mode)
		return New(Config{
			Mode: Strict, Features: DefaultFeatures(), Relations: relations{GraphOptions(modes, false)}, Modes: modes,
			Unready: never,
		})
	}
	found := 0
	for _, mode := range []rules.Mode{rules.Off, rules.Audit, rules.Enforce} {
		for _, a := range everyRequest() {
			want, wantFindings := ask(t, in(mode), a)
			for name, other := range map[string]authorizer.Attributes{"a record by value": *a, "disguised": disguised{a}} {
				got, findings := ask(t, in(mode), other)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %+v (-want +got):\n%s", name, a, diff)
				}
				if len(findings) != len(wantFindings) {
					t.Errorf("%s: %+v: %d findings, want %d", name, a, len(findings), len(wantFindings))
				}
				found += len(findings)
			}
		}
	}
	if found == 0 {
		t.Error("no findings")
	}
}

func TestRecordsAreNotCopied(t *testing.T) {
	a := &request{Verb: "get"}
	if requestOf(a) != a {
		t.Error("a record was copied")
	}
}

func TestANilRecordGetsNoOpinion(t *testing.T) {
	var none *request
	decision, reason, err := newIn(Strict, DefaultFeatures()).Authorize(t.Context(), none)
	if diff := cmp.Diff(answer{authorizer.DecisionNoOpinion, "", nil}, answer{decision, reason, err}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

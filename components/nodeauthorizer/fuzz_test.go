// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// FuzzAuthorize checks the guarantees that apply to every request.
func FuzzAuthorize(f *testing.F) {
	known := map[rules.ID]bool{}
	for _, r := range Rules {
		known[r.ID] = true
	}
	for _, tc := range allRows() {
		a := tc.attributes()
		var field, op, value string
		if len(a.FieldSelectorRequirements) > 0 {
			r := a.FieldSelectorRequirements[0]
			field, op, value = r.Field, string(r.Operator), r.Value
		}
		f.Add(a.User.GetName(), "system:nodes", a.Verb, a.APIGroup, a.Resource, a.Subresource, a.Namespace, a.Name, a.Path,
			field, op, value)
	}
	for _, tc := range allTwins() {
		for _, a := range []*request{complete(tc.refused), complete(tc.allowed)} {
			f.Add(a.User.GetName(), "system:nodes", a.Verb, a.APIGroup, a.Resource, a.Subresource, a.Namespace, a.Name, a.Path,
				"", "", "")
		}
	}
	inCompat, inStrict := newIn(Compat, DefaultFeatures()), newIn(Strict, DefaultFeatures())
	optional := newInModes()
	f.Fuzz(func(t *testing.T, name, group, verb, apiGroup, resource, subresource, namespace, object, path, field, op,
		value string) {
		a := &request{
			User: &user.DefaultInfo{Name: name, Groups: []string{group}},
			Verb: verb, APIGroup: apiGroup, Resource: resource, Subresource: subresource,
			Namespace: namespace, Name: object, Path: path, ResourceRequest: path == "",
			FieldSelectorRequirements: fields.Requirements{{Field: field, Operator: selection.Operator(op), Value: value}},
		}
		isNode := strings.HasPrefix(name, "system:node:") && group == "system:nodes"
		compat, compatReason, _ := inCompat.Authorize(t.Context(), a)
		strict, reason, _ := inStrict.Authorize(t.Context(), a)
		id, hasID := rules.FromReason(reason)
		switch {
		case !isNode && (strict != authorizer.DecisionNoOpinion || reason != ""):
			t.Errorf("not a node, but %v %q", strict, reason)
		case compatReason != reason:
			t.Errorf("reasons differ: %q in Compat, %q in Strict", compatReason, reason)
		case compat == authorizer.DecisionDeny ||
			(compat == authorizer.DecisionAllow) != (strict == authorizer.DecisionAllow):
			t.Errorf("Compat says %v, Strict %v", compat, strict)
		case isNode && (!hasID || !known[id]):
			t.Errorf("reason %q names no rule", reason)
		case isNode && strict == authorizer.DecisionNoOpinion && !strings.HasPrefix(string(id), "NA-PASS-"):
			t.Errorf("Strict has no opinion by %s", id)
		case name == "system:node:" && strict == authorizer.DecisionAllow:
			t.Errorf("a node without a name is allowed by %s", id)
		}
		optional.check(t, a, strict, reason)
	})
}

// inModes has one authorizer with all optional rules audited, and one with all enforced.
type inModes struct {
	audited, enforced *Authorizer
}

func newInModes() *inModes {
	m := &inModes{}
	in := func(mode rules.Mode) *Authorizer {
		modes := every(mode)
		return New(Config{
			Mode: Strict, Features: DefaultFeatures(), Relations: relations{GraphOptions(modes, false)}, Refresher: noNews{},
			Modes: modes, Unready: never,
		})
	}
	m.audited, m.enforced = in(rules.Audit), in(rules.Enforce)
	return m
}

// check checks the guarantees of optional rules for any request. Audit changes no decision. It
// reports exactly what enforce would refuse. Enforce allows nothing that off refuses.
func (m *inModes) check(t *testing.T, a *request, off authorizer.Decision, reason string) {
	audit, findings := ask(t, m.audited, a)
	enforce, more := ask(t, m.enforced, a)
	enforced := enforce.Decision
	refusedBy, _ := rules.FromReason(enforce.Reason)
	wantFindings := 0
	if off == authorizer.DecisionAllow && enforced == authorizer.DecisionDeny {
		wantFindings = 1
	}
	switch {
	case audit.Decision != off || audit.Reason != reason:
		t.Errorf("off says %v %q, audit %v %q", off, reason, audit.Decision, audit.Reason)
	case len(findings)+len(more) != wantFindings || wantFindings > 0 && findings[0].Rule != refusedBy:
		t.Errorf("enforce says %v %q, findings are %v", enforced, enforce.Reason, findings)
	case enforced == authorizer.DecisionAllow && off != authorizer.DecisionAllow:
		t.Errorf("off says %v, enforce allows by %s", off, refusedBy)
	}
}

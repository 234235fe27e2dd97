// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Two optional rules cover requests that the node authorizers do not allow by their own rules.
// Parity has optional rules off, and its authorizer leaves other requests to RBAC. So with the
// rules enforced there, an RBAC grant is enough to reach them.
var _ = Describe("a node to which RBAC grants deletions", Serial, Ordered, Label(Disruptive, OnHost, Slow), func() {
	BeforeAll(func(ctx SpecContext) {
		installed := must(suite.ReadInstallation(ctx))
		if installed.Profile != Parity {
			return
		}
		DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, installed.Command()) })
		suite.OnControlPlane(ctx, installed.Enforcing("NR-NODE-6", "NR-EVENT-4").Command())
	})

	deletions := func(resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{"delete"}, APIGroups: []string{""}, Resources: []string{resource}}
	}
	event := func(source place) RequestFunc {
		return func(ctx context.Context, e *Env) Request {
			event := fixtures.EventAbout(e.Pod(ctx, e.Own), e.NewName("event"), source(e))
			e.Put(ctx, event)
			return Delete(api.Events).In(event.Namespace).Named(event.Name)
		}
	}
	// beyond is admitGranted for rules that are off on parity by default.
	admitExtension := func(ctx SpecContext, makeRequest RequestFunc, refusal Refusal) {
		env := suite.Env()
		who, request := suite.AsNode(env.Own), makeRequest(ctx, env)
		switch suite.Settings.Profile {
		case Hardened:
			expectRefusedByAuthorizer(ctx, who, request)
		case Parity, Any:
			suite.ExpectRefusedWrite(ctx, who, request, refusal)
		case InTree:
			suite.ExpectWritten(ctx, who, request)
		}
	}

	It("does not delete its own Node", DeniesBeyond("NR-NODE-6", Behind), func(ctx SpecContext) {
		admitExtension(ctx, granted(registered(own, Delete(api.Nodes)), deletions("nodes")),
			Refusal{By: "NR-NODE-6", Text: "is not allowed to delete itself"})
	})
	It("still patches its own Node", Allows("NR-NODE-6"), func(ctx SpecContext) {
		admit(ctx, registered(own, Patch(api.Nodes).With(fields{})))
	})
	It("does not delete another node's event", DeniesBeyond("NR-EVENT-4", Behind), func(ctx SpecContext) {
		admitExtension(ctx, granted(event(other), deletions("events")),
			Refusal{By: "NR-EVENT-4", Text: "can only delete events"})
	})
	It("still creates its own events", Allows("NR-EVENT-4"), func(ctx SpecContext) { admit(ctx, newEvent(own)) })
})

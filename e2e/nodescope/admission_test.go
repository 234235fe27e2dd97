// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// admit is the body of the tables about writes. The authorizers allow the write. The answer of
// admission must match the labels of the spec.
func admit(ctx SpecContext, who actor, makeRequest RequestFunc, text ...string) {
	suite.ExpectWriteClaim(ctx, who(), makeRequest, text...)
}

// tainted replaces the taints of a Node with one taint, as a client does that has read them.
func tainted(where place) RequestFunc {
	return theNode(where, Patch(api.Nodes).With(spec("taints", []any{
		fields{"key": "e2e.bulkhead.dev/terminating", "effect": string(corev1.TaintEffectNoSchedule)},
	})))
}

// tokenOf requests a token of an agent that is bound to a pod of the stage, or is not bound.
func tokenOf(pod string) RequestFunc {
	return func(context.Context, *Env) Request {
		request := fixtures.TokenRequest(&corev1.Pod{})
		if pod == "" {
			request.Spec.BoundObjectRef = nil
		} else {
			request.Spec.BoundObjectRef.Name, request.Spec.BoundObjectRef.UID = pod, stage.UIDs[pod]
		}
		return Create(api.ServiceAccounts).In(stage.Namespace).Named(agent).Sub("token").With(request)
	}
}

// newLease creates the heartbeat lease of a node without one.
func newLease(name func(*Env) string) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		return Create(api.Leases).In(fixtures.LeaseNamespace).With(fixtures.Lease(fixtures.LeaseNamespace, name(e)))
	}
}

// notLabels is the text of a rejected label. Both upstream's rule (NR-NODE-3) and the configured
// rule (NR-LABEL-2) use it.
const notLabels = "is not allowed to modify labels"

// The authorizer does not see the content of a write. Admission limits an agent's write to what its
// node may write.
var _ = DescribeTable("an account with a scope that writes objects of its own node", admit,
	Entry("empty patch of the Node: admitted", Allows("NS-ADMIT-1"), podOf(agent), theNode(own, Patch(api.Nodes))),
	Entry("label of the Node that nodes may not set: denied", Denies("NS-ADMIT-1"), podOf(agent),
		theNode(own, Patch(api.Nodes).With(metadata("labels", fields{notForNodes: ""}))), notLabels),
	Entry("taint of the Node: denied", Denies("NS-ADMIT-1"), podOf(agent), tainted(own), "[NR-NODE-4]"),
	Entry("owner of the Node: denied", Denies("NS-ADMIT-1"), podOf(agent),
		theNode(own, Patch(api.Nodes).With(metadata("ownerReferences", []any{
			fields{"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "gone"},
		}))), "[NR-NODE-5]"),
	Entry("label of the Node through its status: denied", Denies("NS-ADMIT-1"), podOf(agent),
		theNode(own, Patch(api.Nodes).Sub("status").With(metadata("labels", fields{notForNodes: ""}))), notLabels),
	Entry("label of the Node by an account without a scope: admitted", Allows("NS-ADMIT-1"), podOf(plain),
		theNode(own, Patch(api.Nodes).With(metadata("labels", fields{notForNodes: ""})))),

	Entry("event with its own node as the source: admitted", Allows("NS-ADMIT-1"), podOf(agent), eventFrom(own, own)),
	Entry("event with another node as the source: denied", Denies("NS-ADMIT-1"), Label(OnHardened), podOf(agent),
		eventFrom(own, other),
		"[NR-EVENT-1]"),
	Entry("event about another node's pod: denied", Denies("NS-ADMIT-1"), Label(OnHardened), podOf(agent),
		eventFrom(other, own),
		"[NR-EVENT-2]"),

	Entry("lease of its own node: admitted", Allows("NS-ADMIT-1"), podOf(agent), lease(own, Patch(api.Leases))),
	Entry("new lease of another node: denied", Denies("NS-ADMIT-1"), podOf(agent),
		newLease(func(e *Env) string { return e.Other }), "[NR-LEASE-1]"),

	Entry("token that is bound to a pod on its node: admitted", Allows("NS-ADMIT-1"), podOf(agent), tokenOf(agent)),
	Entry("token that is bound to a pod on another node: denied", Denies("NS-ADMIT-1"), podOf(agent),
		tokenOf(agent+onOther),
		"[NR-SA-3]"),
	Entry("token that is not bound: denied", Denies("NS-ADMIT-1"), podOf(agent), tokenOf(""), "[NR-SA-1]"),

	Entry("status of a pod on its node: admitted", Allows("NS-ADMIT-1"), podOf(agent),
		bystander(own, Patch(api.Pods).Sub("status").With(wellPatch))),
	Entry("label of a pod through its status: denied", Denies("NS-ADMIT-1"), podOf(agent),
		bystander(own, Patch(api.Pods).Sub("status").With(metadata("labels", fields{"app": "payments"}))), "[NR-POD-7]"),
)

// Agents may patch a pod in ways that no kubelet may. They cannot change the fields by which other
// clients find the pod.
var _ = DescribeTable("an account with a scope that patches a pod on its node", admit,
	Entry("sets an annotation: admitted", Allows("NS-ADMIT-3"), podOf(agent),
		bystander(own, Patch(api.Pods).With(metadata("annotations", fields{"e2e": "seen"})))),
	Entry("sets a label: denied", Denies("NS-ADMIT-3"), podOf(agent),
		bystander(own, Patch(api.Pods).With(metadata("labels", fields{"app": "payments"})))),
	Entry("sets an owner: denied", Denies("NS-ADMIT-3"), podOf(agent),
		bystander(own, Patch(api.Pods).With(metadata("ownerReferences", []any{
			fields{"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "gone"},
		})))),
)

// A termination handler edits the taints of its own node, and nothing else.
var _ = Describe("an account that is exempted from the rule about taints", func() {
	DescribeTable("admission", admit,
		Entry("taints its own node", Allows("NS-ADMIT-1"), podOf(handler), tainted(own)),
		Entry("does not set a label that nodes may not set", Denies("NS-ADMIT-1"), podOf(handler),
			theNode(own, Patch(api.Nodes).With(metadata("labels", fields{notForNodes: ""}))), notLabels),
		Entry("does not taint its own node without the exemption", Denies("NS-ADMIT-1"), podOf(agent), tainted(own),
			"[NR-NODE-4]"),
	)

	It("does not taint another node", Denies("NS-NODE-2"), func(ctx SpecContext) {
		decide(ctx, podOf(handler), tainted(other), "only of its own node")
	})
})

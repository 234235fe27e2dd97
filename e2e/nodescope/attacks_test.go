// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var mutatingWebhooks = admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")

// noPods sets a node's capacity for pods to zero, so that pods are scheduled to other nodes.
var noPods = status("capacity", fields{"pods": "0"})

// unboundToken requests a token of an account that is not bound to an object.
func unboundToken(namespace, account string) RequestFunc {
	return func(context.Context, *Env) Request {
		return Create(api.ServiceAccounts).In(namespace).Named(account).Sub("token").With(&authenticationv1.TokenRequest{})
	}
}

// shadow creates a webhook that could receive every secret.
func shadow(_ context.Context, e *Env) Request {
	name := e.NewName("shadow")
	return Create(mutatingWebhooks).With(
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// T1 to T5, T13 and T14: attacks with the token of one DaemonSet pod.
var _ = Describe("attacks with the token of a DaemonSet's pod", func() {
	cordon := Patch(api.Nodes).With(spec("unschedulable", true))
	try("T1", attempt{
		name: "cordoning the other node, so that pods come here", rule: "NS-NODE-2", text: "only of its own node",
		attack: theNode(other, cordon), permitted: theNode(own, cordon),
	})
	try("T1", attempt{
		name: "tainting the other node", rule: "NS-NODE-2", text: "only of its own node",
		attack: tainted(other), permitted: theNode(own, Patch(api.Nodes)),
	})
	try("T2", attempt{
		name: "reducing the allocatable resources of the other node", rule: "NS-NODE-2", text: "only of its own node",
		attack:    theNode(other, Patch(api.Nodes).Sub("status").With(noPods)),
		permitted: theNode(own, Patch(api.Nodes).Sub("status").With(noPods)),
	})
	try("T3", attempt{
		name: "reading all secrets", rule: "NS-SCOPE-1", text: "[NA-SECRET-2]",
		attack: plainly(List(api.Secrets)), permitted: selecting(own, List(api.Secrets)),
	})
	try("T3", attempt{
		name: "reading a secret of the other node's pods", rule: "NS-SCOPE-1", text: "[NA-SECRET-1]",
		attack: bystander(other, Get(api.Secrets)), permitted: bystander(own, Get(api.Secrets)),
	})
	try("T4", attempt{
		name: "creating a token of a cluster-admin account", rule: "NS-TOKEN-1", text: "[NA-SA-2]",
		attack: unboundToken(metav1.NamespaceSystem, "clusterrole-aggregation-controller"), permitted: tokenOf(agent),
	})
	try("T4", attempt{
		name: "creating a token of its own account that is not bound", rule: "NS-ADMIT-1", text: "[NR-SA-1]",
		atAdmission: true,
		attack:      tokenOf(""), permitted: tokenOf(agent),
	})
	try("T5", attempt{
		name: "deleting the other node's pods", rule: "NS-POD-3", text: "[NA-POD-1]",
		attack: bystander(other, Delete(api.Pods)), permitted: bystander(own, Delete(api.Pods)),
	})
	try("T5", attempt{
		name: "evicting the other node's pods", rule: "NS-POD-3", text: "[NA-POD-1]", attack: evicted(other),
		permitted: evicted(own),
	})
	try("T13", attempt{
		name: "creating an admission webhook", rule: "NS-SCOPE-1", text: "[NA-DEFAULT]",
		attack: shadow, permitted: eventFrom(own, own),
	})
	try("T14", attempt{
		name: "attracting a Service's traffic by its status", rule: "NS-SCOPE-1", text: "[NA-UNI-SERVICES]",
		attack:    plainly(Patch(api.Services).In("default").Named("kubernetes").Sub("status")),
		permitted: plainly(Get(api.Services).In("default").Named("kubernetes")),
	})
})

// T15, T16 and T21: attacks with the tokens of other pods.
var _ = Describe("attacks with the tokens of other pods", func() {
	// root on the node read all tokens of the stage from its disk.
	try("T15", attempt{
		name: "reading the other node's pods with a token from the disk", rule: "NS-POD-1", text: "[NA-POD-2]",
		attack: otherPods, permitted: ownPods,
	})
	try("T15", attempt{
		name: "annotating the other node's pods with a network agent's token", rule: "NS-POD-2", text: "[NA-POD-1]",
		attack: bystander(other, Patch(api.Pods)), permitted: bystander(own, Patch(api.Pods)),
	})
	try("T16", attempt{
		name: "patching the lease of the other node", rule: "NS-SCOPE-1", text: "[NA-LEASE-3]",
		attack: lease(other, Patch(api.Leases)), permitted: lease(own, Patch(api.Leases)),
	})

	DescribeTable("a scope applies to the account of the token, not to a similar name:", Attack("T21"), decide,
		Entry("pod of an account with a scope: denied", Denies("NS-POD-1"), podOf(agent), otherPods, "[NA-POD-2]"),
		Entry("pod of an account without a scope: allowed", AllowsBy("NS-POD-1", Behind), podOf(plain), otherPods),
		Entry("pod without annotation, next to an annotated pod of its account: allowed", Allows("NS-PASS-1"), podOf(shared),
			otherPods),
		Entry("token with the claims of another account's pod: denied", Denies("NS-IDENT-3"), forged(ofAnother), otherPods,
			"does not run as"),
	)
})

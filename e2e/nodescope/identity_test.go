// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	podName  = serviceaccount.PodNameKey
	podUID   = serviceaccount.PodUIDKey
	nodeName = serviceaccount.NodeNameKey
)

// change changes the claims of a token.
type change func(Bearer) Bearer

func unchanged(b Bearer) Bearer { return b }

// saying changes the values of one key.
func withExtra(key string, values ...string) change {
	return func(b Bearer) Bearer { return b.With(key, values...) }
}

// ofAnother replaces the pod name and UID with those of another account's pod.
func ofAnother(b Bearer) Bearer {
	return b.With(podName, plain).With(podUID, string(stage.UIDs[plain]))
}

// onNoNode is a token of a pod that had no node when the token was issued: it has neither a node
// name nor a node UID.
func onNoNode(b Bearer) Bearer {
	return b.With(nodeName).With(serviceaccount.NodeUIDKey)
}

// onAnotherNode replaces the node name with the other node.
func onAnotherNode(b Bearer) Bearer { return b.With(nodeName, other()) }

var (
	ownPods   = onNode(own, List(api.Pods))
	otherPods = onNode(other, List(api.Pods))
)

// alleged makes a request as an agent's pod with changed claims. The last argument is the rule that
// lets the request pass. Without it, the request must be denied.
func alleged(ctx SpecContext, changed change, makeRequest RequestFunc, text string, by ...rules.ID) {
	who := forged(changed)()
	if len(by) > 0 {
		expectPassed(ctx, who, makeRequest(ctx, suite.Env()), by[0])
		return
	}
	suite.ExpectForbidden(ctx, who, makeRequest(ctx, suite.Env()), ReadClaim(CurrentSpecReport().Labels()).By, text)
}

// The first entry uses the token's own claims. Each other entry differs in one claim.
var _ = DescribeTable("a token", Attack("T16"), alleged,
	Entry("with correct claims: allowed", Allows("NS-IDENT-2"), Allows("NS-IDENT-3"), Allows("NS-IDENT-4"),
		change(unchanged), ownPods, "", rules.ID("NS-POD-1")),
	Entry("without the UID of its pod: denied", Denies("NS-IDENT-2"), withExtra(podUID), ownPods, "incomplete"),
	Entry("without the name of its pod: denied", Denies("NS-IDENT-2"), withExtra(podName), ownPods, "incomplete"),
	Entry("with two pod names: denied", Denies("NS-IDENT-2"), withExtra(podName, agent, plain), ownPods, "incomplete"),
	Entry("with the UID of a missing pod: denied", Denies("NS-IDENT-3"),
		withExtra(podUID, "00000000-0000-0000-0000-000000000000"), ownPods, "not the one"),
	Entry("with the name of a missing pod: denied", Denies("NS-IDENT-3"), withExtra(podName, "gone"), ownPods,
		"not there"),
	Entry("with a pod of another account: denied", Denies("NS-IDENT-3"), change(ofAnother), ownPods, "does not run as"),
	Entry("without the node of its pod: denied", Denies("NS-IDENT-4"), change(onNoNode), ownPods, "names no node"),
	Entry("with another node than its pod's: denied", Denies("NS-IDENT-4"), change(onAnotherNode), ownPods,
		"another node"),
	Entry("with another node, for that node's pods: denied", Denies("NS-IDENT-4"), change(onAnotherNode), otherPods,
		"another node"),
	Entry("with another node, for a resource outside of the scope: allowed", Allows("NS-IDENT-4"), change(onAnotherNode),
		plainly(List(api.Deployments)), "", rules.ID("NS-PASS-1")),
	Entry("without the UID of its pod, for a resource outside of the scope: denied", Denies("NS-IDENT-2"),
		withExtra(podUID),
		plainly(List(api.Deployments)), "incomplete"),
)

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// replaced updates a Node without a change. It has no resourceVersion, so that a concurrent write
// of the kubelet causes no conflict.
func replaced(where place) RequestFunc {
	return func(ctx context.Context, _ *Env) Request {
		node := must(suite.Client.CoreV1().Nodes().Get(ctx, where(), metav1.GetOptions{}))
		node.ResourceVersion = ""
		return Update(api.Nodes).Named(node.Name).With(node)
	}
}

func newNode(_ context.Context, e *Env) Request {
	return Create(api.Nodes).With(fixtures.Node(e.Own))
}

// unwell is a condition as a node problem detector reports it.
var unwell = status("conditions",
	[]any{fields{"type": "E2EProblem", "status": string(corev1.ConditionFalse), "reason": "None"}})

var _ = DescribeTable("an account with a scope reads Nodes:", decide,
	Entry("gets its own Node", Allows("NS-NODE-1"), podOf(agent), theNode(own, Get(api.Nodes))),
	Entry("does not get another Node", Denies("NS-NODE-1"), podOf(agent), theNode(other, Get(api.Nodes)), "[NA-NODE-1]"),
	Entry("the pod of its DaemonSet on the other node gets that Node", Allows("NS-NODE-1"), podOf(agent+onOther),
		theNode(other, Get(api.Nodes))),
	Entry("lists its own Node by name", Allows("NS-NODE-1"), podOf(agent), byName(own, List(api.Nodes))),
	Entry("does not list another Node by name", Denies("NS-NODE-1"), podOf(agent), byName(other, List(api.Nodes)),
		"[NA-NODE-1]"),
	Entry("does not list all Nodes", Denies("NS-NODE-1"), podOf(agent), plainly(List(api.Nodes)), "[NA-NODE-1]"),
	Entry("watches its own Node by name", Allows("NS-NODE-1"), podOf(agent), byName(own, Watch(api.Nodes))),
	Entry("does not watch another Node by name", Denies("NS-NODE-1"), podOf(agent), byName(other, Watch(api.Nodes)),
		"[NA-NODE-1]"),
	Entry("does not watch all Nodes", Denies("NS-NODE-1"), podOf(agent), plainly(Watch(api.Nodes)), "[NA-NODE-1]"),
)

var _ = DescribeTable("an account with a scope writes Nodes:", decide,
	Entry("patches its own Node", Allows("NS-NODE-2"), podOf(agent), theNode(own, Patch(api.Nodes))),
	Entry("does not patch another Node", Denies("NS-NODE-2"), podOf(agent), theNode(other, Patch(api.Nodes)),
		"only of its own node"),
	Entry("updates its own Node", Allows("NS-NODE-2"), podOf(agent), replaced(own)),
	Entry("does not update another Node", Denies("NS-NODE-2"), podOf(agent), replaced(other), "only of its own node"),
	Entry("patches the status of its own Node", Allows("NS-NODE-2"), podOf(agent),
		theNode(own, Patch(api.Nodes).Sub("status").With(unwell))),
	Entry("does not patch the status of another Node", Denies("NS-NODE-2"), podOf(agent),
		theNode(other, Patch(api.Nodes).Sub("status").With(unwell)), "only of its own node"),
	Entry("does not delete its own Node", Denies("NS-NODE-2"), podOf(agent), theNode(own, Delete(api.Nodes)),
		"[NA-NODE-2]"),
	Entry("does not delete all Nodes", Denies("NS-NODE-2"), podOf(agent), plainly(DeleteAll(api.Nodes)), "[NA-NODE-2]"),
	Entry("does not create a Node", Denies("NS-NODE-2"), podOf(agent), RequestFunc(newNode), "creates no nodes"),
	Entry("an account without a scope creates a Node", AllowsBy("NS-NODE-2", Behind), podOf(plain), RequestFunc(newNode)),
)

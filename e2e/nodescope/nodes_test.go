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

var _ = DescribeTable("an agent reads Nodes:", decide,
	Entry("it gets its own", Allows("NS-NODE-1"), podOf(agent), theNode(own, Get(api.Nodes))),
	Entry("it does not get another", Denies("NS-NODE-1"), podOf(agent), theNode(other, Get(api.Nodes)), "[NA-NODE-1]"),
	Entry("which the pod of its DaemonSet there gets", Allows("NS-NODE-1"), podOf(agent+onOther),
		theNode(other, Get(api.Nodes))),
	Entry("it lists its own by name", Allows("NS-NODE-1"), podOf(agent), byName(own, List(api.Nodes))),
	Entry("it does not list another by name", Denies("NS-NODE-1"), podOf(agent), byName(other, List(api.Nodes)),
		"[NA-NODE-1]"),
	Entry("it does not list all", Denies("NS-NODE-1"), podOf(agent), plainly(List(api.Nodes)), "[NA-NODE-1]"),
	Entry("it watches its own by name", Allows("NS-NODE-1"), podOf(agent), byName(own, Watch(api.Nodes))),
	Entry("it does not watch another by name", Denies("NS-NODE-1"), podOf(agent), byName(other, Watch(api.Nodes)),
		"[NA-NODE-1]"),
	Entry("it does not watch all", Denies("NS-NODE-1"), podOf(agent), plainly(Watch(api.Nodes)), "[NA-NODE-1]"),
)

var _ = DescribeTable("an agent writes Nodes:", decide,
	Entry("it patches its own", Allows("NS-NODE-2"), podOf(agent), theNode(own, Patch(api.Nodes))),
	Entry("it does not patch another", Denies("NS-NODE-2"), podOf(agent), theNode(other, Patch(api.Nodes)),
		"only of its own node"),
	Entry("it updates its own", Allows("NS-NODE-2"), podOf(agent), replaced(own)),
	Entry("it does not update another", Denies("NS-NODE-2"), podOf(agent), replaced(other), "only of its own node"),
	Entry("it patches its own status", Allows("NS-NODE-2"), podOf(agent),
		theNode(own, Patch(api.Nodes).Sub("status").With(unwell))),
	Entry("it does not patch another's status", Denies("NS-NODE-2"), podOf(agent),
		theNode(other, Patch(api.Nodes).Sub("status").With(unwell)), "only of its own node"),
	Entry("it does not delete its own", Denies("NS-NODE-2"), podOf(agent), theNode(own, Delete(api.Nodes)), "[NA-NODE-2]"),
	Entry("it does not delete all", Denies("NS-NODE-2"), podOf(agent), plainly(DeleteAll(api.Nodes)), "[NA-NODE-2]"),
	Entry("it creates none", Denies("NS-NODE-2"), podOf(agent), RequestFunc(newNode), "creates no nodes"),
	Entry("while who is not held does", AllowsBy("NS-NODE-2", Behind), podOf(plain), RequestFunc(newNode)),
)

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func nodeNamed(where place, r Request) RequestFunc {
	return forNode(where, r.Named)
}

func nodeSelected(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.Where("metadata.name=" + node) })
}

// registered creates the Node object first.
func registered(where place, r Request) RequestFunc {
	return func(ctx context.Context, e *Env) Request { return r.Named(e.Node(ctx, where(e)).Name) }
}

const (
	onlyOwnNode = "only its own Node object"
	notAllNodes = "cannot read all nodes, only its own Node object"
)

var _ = DescribeTable("a node and a Node object", decide,
	Entry("gets its own", Allows("NA-NODE-1"), registered(own, Get(api.Nodes))),
	Entry("gets its own before it is registered", Allows("NA-NODE-1"), nodeNamed(own, Get(api.Nodes).OrMissing())),
	Entry("does not get another node's", Denies("NA-NODE-1"), registered(other, Get(api.Nodes)), onlyOwnNode),
	Entry("lists its own by name", Allows("NA-NODE-1"), nodeSelected(own, List(api.Nodes))),
	Entry("does not list another node's by name", Denies("NA-NODE-1"), nodeSelected(other, List(api.Nodes)), onlyOwnNode),
	Entry("does not list all Nodes", Denies("NA-NODE-1"), plainly(List(api.Nodes)), notAllNodes),
	Entry("watches its own by name", Allows("NA-NODE-1"), nodeSelected(own, Watch(api.Nodes))),
	Entry("does not watch another node's by name", Denies("NA-NODE-1"), nodeSelected(other, Watch(api.Nodes)),
		onlyOwnNode),
	Entry("does not watch all Nodes", Denies("NA-NODE-1"), plainly(Watch(api.Nodes)), notAllNodes),
	Entry("watches its own on the old watch path", Allows("NA-NODE-1"), nodeNamed(own, Watch(api.Nodes).OnWatchPath())),
	Entry("does not watch another node's on the old watch path", Denies("NA-NODE-1"),
		nodeNamed(other, Watch(api.Nodes).OnWatchPath()), onlyOwnNode),

	Entry("creates its own", Allows("NA-NODE-2"),
		forNode(own, func(node string) Request { return Create(api.Nodes).With(fixtures.Node(node)) })),
	Entry("patches its own", Allows("NA-NODE-2"), registered(own, Patch(api.Nodes))),
	Entry("does not delete its own", Denies("NA-NODE-2"), registered(own, Delete(api.Nodes))),
	Entry("does not delete all Nodes", Denies("NA-NODE-2"), plainly(DeleteAll(api.Nodes))),

	Entry("patches its own status", Allows("NA-NODE-3"), registered(own, Patch(api.Nodes).Sub("status"))),
	Entry("does not get its own status", Denies("NA-NODE-3"), registered(own, Get(api.Nodes).Sub("status"))),
	Entry("does not use the proxy to its own kubelet", Denies("NA-NODE-3"), registered(own, Get(api.Nodes).Sub("proxy"))),
	Entry("does not use the proxy to another kubelet", Denies("NA-NODE-3"),
		registered(other, Get(api.Nodes).Sub("proxy"))),
)

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func podsOf(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.Where("spec.nodeName=" + node) })
}

func podsNotOf(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.Where("spec.nodeName!=" + node) })
}

func mirrorPod(ctx context.Context, e *Env) Request {
	node := e.Node(ctx, e.Own)
	pod := fixtures.Pod(e.Namespace(ctx), e.NewName("mirror"), node.Name, fixtures.Mirror(node))
	return Create(api.Pods).In(pod.Namespace).With(pod)
}

func eviction(namespace, name string) Request {
	return Create(api.Pods).In(namespace).Named(name).Sub("eviction").With(fixtures.Eviction(namespace, name))
}

const onlySelected = "can only list/watch pods with spec.nodeName field selector"

var _ = DescribeTable("a node and a pod", decide,
	Entry("gets one that is bound to it", Allows("NA-POD-1"), podOn(own, named(Get(api.Pods)))),
	Entry("does not get one that is bound to another node", Denies("NA-POD-1"), podOn(other, named(Get(api.Pods))),
		unrelated),
	Entry("does not get one that does not exist", Denies("NA-POD-1"),
		inNamespace(func(ns string) Request { return Get(api.Pods).In(ns).Named("never-was") }), unrelated),

	Entry("creates a mirror pod of its own", Allows("NA-POD-3"), mirrorPod),
	Entry("deletes one that is bound to it", Allows("NA-POD-3"), podOn(own, named(Delete(api.Pods)))),
	Entry("does not patch one that is bound to it", Denies("NA-POD-3"), podOn(own, named(Patch(api.Pods)))),
	Entry("does not delete all that are bound to it", Denies("NA-POD-3"),
		podOn(own, func(ns, _ string) Request { return DeleteAll(api.Pods).In(ns) })),

	Entry("patches the status of one that is bound to it", Allows("NA-POD-4"),
		podOn(own, named(Patch(api.Pods).Sub("status")))),
	Entry("does not get the status of one that is bound to it", Denies("NA-POD-4"),
		podOn(own, named(Get(api.Pods).Sub("status")))),
	Entry("does not read the log of one that is bound to it", Denies("NA-POD-4"),
		podOn(own, named(Get(api.Pods).Sub("log")))),
	Entry("does not exec into one that is bound to it", Denies("NA-POD-4"),
		podOn(own, named(Create(api.Pods).Sub("exec")))),
	Entry("does not bind one", Denies("NA-POD-4"), podOn(own, named(Create(api.Pods).Sub("binding")))),
	Entry("does not debug one that is bound to it", Denies("NA-POD-4"),
		podOn(own, named(Patch(api.Pods).Sub("ephemeralcontainers")))),

	Entry("evicts one that is bound to it", Allows("NA-POD-5"), podOn(own, eviction)),
	Entry("does not get evictions", Denies("NA-POD-5"), podOn(own, named(Get(api.Pods).Sub("eviction")))),
)

var _ = DescribeTable("a node and the pods of a node", decide,
	Entry("lists its own", Allows("NA-POD-2"), podsOf(own, List(api.Pods))),
	Entry("does not list another node's", Denies("NA-POD-2"), podsOf(other, List(api.Pods)), onlySelected),
	Entry("does not list all but its own", Denies("NA-POD-2"), podsNotOf(own, List(api.Pods)), onlySelected),
	Entry("does not list all", Denies("NA-POD-2"), plainly(List(api.Pods)), onlySelected),
	Entry("does not list those of a namespace", Denies("NA-POD-2"), plainly(List(api.Pods).In("kube-system")),
		onlySelected),
	Entry("does not list pods with its name in a selector of another field", Denies("NA-POD-2"),
		plainly(List(api.Pods).Where("status.phase=Running")), onlySelected),
	Entry("watches its own", Allows("NA-POD-2"), podsOf(own, Watch(api.Pods))),
	Entry("does not watch another node's", Denies("NA-POD-2"), podsOf(other, Watch(api.Pods)), onlySelected),
	Entry("does not watch all", Denies("NA-POD-2"), plainly(Watch(api.Pods)), onlySelected),
	Entry("does not watch its own on the old watch path, which has no selector", Denies("NA-POD-2"),
		podsOf(own, Watch(api.Pods).OnWatchPath()), onlySelected),

	Entry("lists one by name that is bound to it", Allows("NA-POD-2"), podOn(own, selected(List(api.Pods)))),
	Entry("does not list one by name that is bound to another node", Denies("NA-POD-2"),
		podOn(other, selected(List(api.Pods))), unrelated),
	Entry("watches one on the old watch path that is bound to it", Allows("NA-POD-2"),
		podOn(own, named(Watch(api.Pods).OnWatchPath()))),
	Entry("does not watch one on the old watch path that is bound to another node", Denies("NA-POD-2"),
		podOn(other, named(Watch(api.Pods).OnWatchPath())), unrelated),
)

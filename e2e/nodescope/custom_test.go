// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// ofNode is a request for the object of a node.
func ofNode(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.In(stage.Namespace).Named(node) })
}

// byField and byLabel select the objects of a node.
func byField(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.In(stage.Namespace).Where("spec.node=" + node) })
}

func byLabel(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.In(stage.Namespace).Labelled(nodeLabel + "=" + node) })
}

// newObject creates another object that names a node.
func newObject(r schema.GroupVersionResource, where place) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		object := objectOf(r, where())
		object["metadata"] = fields{"name": e.NewName("object")}
		return Create(r).In(stage.Namespace).With(object)
	}
}

func handedTo(where place, r schema.GroupVersionResource) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		patch := spec("node", where())
		if r == theGadgets {
			patch = metadata("labels", fields{nodeLabel: where()})
		}
		return ofNode(own, Patch(r).With(patch))(ctx, e)
	}
}

// Disruptive: the declaration is an argument of both components, so both restart.
var _ = Describe("declared custom resources", Serial, Ordered, Label(Disruptive, OnHost, OnWorker, Slow),
	func() {
		BeforeAll(func(ctx SpecContext) {
			define(ctx)
			declare(ctx)
		})

		DescribeTable("requests with a selector", decide,
			Entry("list by field, own node: allowed", Allows("NS-CUSTOM-1"), podOf(custom),
				byField(own, List(theWidgets))),
			Entry("list by field, other node: denied", Denies("NS-CUSTOM-1"), podOf(custom), byField(other, List(theWidgets)),
				"spec.node"),
			Entry("list without a selector: denied", Denies("NS-CUSTOM-1"), podOf(custom), inStage(List(theWidgets)),
				"spec.node"),
			Entry("list by label, although the field is declared: denied", Denies("NS-CUSTOM-1"), podOf(custom),
				byLabel(own, List(theWidgets)), "spec.node"),
			Entry("watch by field, own node: allowed", Allows("NS-CUSTOM-1"), podOf(custom), byField(own, Watch(theWidgets))),
			Entry("watch by field, other node: denied", Denies("NS-CUSTOM-1"), podOf(custom), byField(other, Watch(theWidgets)),
				"spec.node"),
			Entry("delete by field, own node: allowed", Allows("NS-CUSTOM-1"), podOf(custom),
				byField(own, DeleteAll(theWidgets))),
			Entry("delete by field, other node: denied", Denies("NS-CUSTOM-1"), podOf(custom),
				byField(other, DeleteAll(theWidgets)),
				"spec.node"),
			Entry("list by label, own node: allowed", Allows("NS-CUSTOM-1"), podOf(custom), byLabel(own, List(theGadgets))),
			Entry("list by label, other node: denied", Denies("NS-CUSTOM-1"), podOf(custom), byLabel(other, List(theGadgets)),
				nodeLabel),
			Entry("list by field, although the label is declared: denied", Denies("NS-CUSTOM-1"), podOf(custom),
				byField(own, List(theGadgets)), nodeLabel),
		)

		DescribeTable("requests from inside a pod", decide,
			Entry("list by field, own node: allowed", Allows("NS-CUSTOM-1"), fromInside(custom),
				byField(own, List(theWidgets))),
			Entry("list by field, other node: denied", Denies("NS-CUSTOM-1"), fromInside(custom),
				byField(other, List(theWidgets)), "spec.node"),
			Entry("get, own node: allowed", Allows("NS-CUSTOM-2"), fromInside(custom), ofNode(own, Get(theWidgets))),
			Entry("get, other node: denied", Denies("NS-CUSTOM-2"), fromInside(custom), ofNode(other, Get(theWidgets)),
				"does not belong"),
		)

		DescribeTable("writes from inside a pod", admit,
			Entry("own object, same node: admitted", Allows("NS-CUSTOM-3"), fromInside(custom),
				handedTo(own, theWidgets)),
			Entry("own object, other node: denied", Denies("NS-CUSTOM-3"), fromInside(custom),
				handedTo(other, theWidgets)),
		)

		for _, r := range []schema.GroupVersionResource{theWidgets, theGadgets} {
			DescribeTable("declared "+r.Resource, decide,
				Entry("get, own node: allowed", Allows("NS-CUSTOM-2"), podOf(custom), ofNode(own, Get(r))),
				Entry("get, other node: denied", Denies("NS-CUSTOM-2"), podOf(custom), ofNode(other, Get(r)), "does not belong"),
				Entry("patch, own node: allowed", Allows("NS-CUSTOM-2"), podOf(custom),
					ofNode(own, Patch(r).With(spec("size", "big")))),
				Entry("patch, other node: denied", Denies("NS-CUSTOM-2"), podOf(custom),
					ofNode(other, Patch(r).With(spec("size", "big"))), "does not belong"),
				Entry("patch status, own node: allowed", Allows("NS-CUSTOM-2"), podOf(custom),
					ofNode(own, Patch(r).Sub("status").With(status("phase", "well")))),
				Entry("patch status, other node: denied", Denies("NS-CUSTOM-2"), podOf(custom),
					ofNode(other, Patch(r).Sub("status").With(status("phase", "well"))), "does not belong"),
				Entry("delete, own node: allowed", Allows("NS-CUSTOM-2"), podOf(custom), ofNode(own, Delete(r))),
				Entry("delete, other node: denied", Denies("NS-CUSTOM-2"), podOf(custom), ofNode(other, Delete(r)),
					"does not belong"),
				Entry("create: denied", Denies("NS-CUSTOM-2"), podOf(custom), newObject(r, own), "cannot create"),
				Entry("get of a missing object: denied", Denies("NS-CUSTOM-2"), podOf(custom), named("gone", Get(r)),
					"does not belong"),
				Entry("patch, other node, account without a scope: allowed", AllowsBy("NS-CUSTOM-2", Behind), podOf(plain),
					ofNode(other, Patch(r))),
			)

			DescribeTable("declared "+r.Resource+" at admission:", admit,
				Entry("without a change of the node: admitted", Allows("NS-CUSTOM-3"), podOf(custom),
					ofNode(own, Patch(r).With(spec("size", "big")))),
				Entry("with another node: denied", Denies("NS-CUSTOM-3"), podOf(custom), handedTo(other, r)),
			)
		}
	})

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
var _ = Describe("custom resources that are declared", Serial, Ordered, Label(Disruptive, OnHost, OnWorker, Slow),
	func() {
		BeforeAll(func(ctx SpecContext) {
			define(ctx)
			declare(ctx)
		})

		DescribeTable("by selector", decide,
			Entry("those of its node by the field, listed", Allows("NS-CUSTOM-1"), podOf(custom),
				byField(own, List(theWidgets))),
			Entry("not those of another", Denies("NS-CUSTOM-1"), podOf(custom), byField(other, List(theWidgets)), "spec.node"),
			Entry("not all", Denies("NS-CUSTOM-1"), podOf(custom), inStage(List(theWidgets)), "spec.node"),
			Entry("not by a label, which they do not name it in", Denies("NS-CUSTOM-1"), podOf(custom),
				byLabel(own, List(theWidgets)), "spec.node"),
			Entry("watched", Allows("NS-CUSTOM-1"), podOf(custom), byField(own, Watch(theWidgets))),
			Entry("not watched of another", Denies("NS-CUSTOM-1"), podOf(custom), byField(other, Watch(theWidgets)),
				"spec.node"),
			Entry("deleted", Allows("NS-CUSTOM-1"), podOf(custom), byField(own, DeleteAll(theWidgets))),
			Entry("not deleted of another", Denies("NS-CUSTOM-1"), podOf(custom), byField(other, DeleteAll(theWidgets)),
				"spec.node"),
			Entry("those of its node by the label", Allows("NS-CUSTOM-1"), podOf(custom), byLabel(own, List(theGadgets))),
			Entry("not those of another by the label", Denies("NS-CUSTOM-1"), podOf(custom), byLabel(other, List(theGadgets)),
				nodeLabel),
			Entry("not by a field, which they do not name it in", Denies("NS-CUSTOM-1"), podOf(custom),
				byField(own, List(theGadgets)), nodeLabel),
		)

		for _, r := range []schema.GroupVersionResource{theWidgets, theGadgets} {
			DescribeTable("each of the "+r.Resource, decide,
				Entry("of its node is got", Allows("NS-CUSTOM-2"), podOf(custom), ofNode(own, Get(r))),
				Entry("of another is not", Denies("NS-CUSTOM-2"), podOf(custom), ofNode(other, Get(r)), "does not belong"),
				Entry("of its node is patched", Allows("NS-CUSTOM-2"), podOf(custom),
					ofNode(own, Patch(r).With(spec("size", "big")))),
				Entry("of another is not patched", Denies("NS-CUSTOM-2"), podOf(custom),
					ofNode(other, Patch(r).With(spec("size", "big"))), "does not belong"),
				Entry("of its node has its status patched", Allows("NS-CUSTOM-2"), podOf(custom),
					ofNode(own, Patch(r).Sub("status").With(status("phase", "well")))),
				Entry("of another has not", Denies("NS-CUSTOM-2"), podOf(custom),
					ofNode(other, Patch(r).Sub("status").With(status("phase", "well"))), "does not belong"),
				Entry("of its node is deleted", Allows("NS-CUSTOM-2"), podOf(custom), ofNode(own, Delete(r))),
				Entry("of another is not deleted", Denies("NS-CUSTOM-2"), podOf(custom), ofNode(other, Delete(r)),
					"does not belong"),
				Entry("that is new is not made", Denies("NS-CUSTOM-2"), podOf(custom), newObject(r, own), "cannot create"),
				Entry("that is not there is not got", Denies("NS-CUSTOM-2"), podOf(custom), named("gone", Get(r)),
					"does not belong"),
				Entry("is anybody's who is not held", AllowsBy("NS-CUSTOM-2", Behind), podOf(plain), ofNode(other, Patch(r))),
			)

			DescribeTable("each of the "+r.Resource+" that is written", admit,
				Entry("stays with its node", Allows("NS-CUSTOM-3"), podOf(custom), ofNode(own, Patch(r).With(spec("size", "big")))),
				Entry("does not go to another", Denies("NS-CUSTOM-3"), podOf(custom), handedTo(other, r)),
			)
		}
	})

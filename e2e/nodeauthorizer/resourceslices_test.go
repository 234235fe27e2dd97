// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// sliceOf creates a slice of a node's devices.
func sliceOf(where place, question ask) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		slice := fixtures.ResourceSlice(e.NewName("slice"), where(e))
		e.Put(ctx, slice)
		return question("", slice.Name)
	}
}

func slicesOf(where place, r Request) RequestFunc {
	return forNode(where, func(node string) Request { return r.Where("spec.nodeName=" + node) })
}

const (
	noSliceSub        = "cannot authorize ResourceSlice subresources"
	onlySelectedSlice = "can only list/watch/deletecollection resourceslices with nodeName field selector"
)

var _ = DescribeTable("a node and a resource slice", decide,
	Entry("creates a slice of its own devices", Allows("NA-SLICE-1"),
		forNode(own, func(node string) Request {
			return Create(api.ResourceSlices).With(fixtures.ResourceSlice(node, node))
		})),
	Entry("does not use a subresource of its own", Denies("NA-SLICE-1"),
		sliceOf(own, named(Get(api.ResourceSlices).Sub("status"))), noSliceSub),

	Entry("gets its own", Allows("NA-SLICE-2"), sliceOf(own, named(Get(api.ResourceSlices)))),
	Entry("does not get another node's", Denies("NA-SLICE-2"), sliceOf(other, named(Get(api.ResourceSlices))), unrelated),
	Entry("patches its own", Allows("NA-SLICE-2"), sliceOf(own, named(Patch(api.ResourceSlices)))),
	Entry("does not patch another node's", Denies("NA-SLICE-2"), sliceOf(other, named(Patch(api.ResourceSlices))),
		unrelated),
	Entry("deletes its own", Allows("NA-SLICE-2"), sliceOf(own, named(Delete(api.ResourceSlices)))),
	Entry("does not delete another node's", Denies("NA-SLICE-2"), sliceOf(other, named(Delete(api.ResourceSlices))),
		unrelated),

	Entry("lists its own", Allows("NA-SLICE-3"), slicesOf(own, List(api.ResourceSlices))),
	Entry("does not list another node's", Denies("NA-SLICE-3"), slicesOf(other, List(api.ResourceSlices)),
		onlySelectedSlice),
	Entry("does not list all", Denies("NA-SLICE-3"), plainly(List(api.ResourceSlices)), onlySelectedSlice),
	Entry("watches its own", Allows("NA-SLICE-3"), slicesOf(own, Watch(api.ResourceSlices))),
	Entry("does not watch its own on the old watch path, which has no selector", Denies("NA-SLICE-3"),
		slicesOf(own, Watch(api.ResourceSlices).OnWatchPath()), onlySelectedSlice),
	Entry("deletes all of its own", Allows("NA-SLICE-3"), slicesOf(own, DeleteAll(api.ResourceSlices))),
	Entry("does not delete all of another node's", Denies("NA-SLICE-3"),
		slicesOf(other, DeleteAll(api.ResourceSlices)), onlySelectedSlice),
	Entry("does not delete all", Denies("NA-SLICE-3"), plainly(DeleteAll(api.ResourceSlices)), onlySelectedSlice),
)

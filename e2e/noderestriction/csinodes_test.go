// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func csiNodeOf(where place) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		return Create(api.CSINodes).With(fixtures.CSINode(where(e)))
	}
}

var _ = DescribeTable("a node and a CSINode", admit,
	Entry("creates its own", Allows("NR-CSINODE-1"), csiNodeOf(own)),
	Entry("does not create another node's", Denies("NR-CSINODE-1"), csiNodeOf(other),
		"can only access CSINode with the same name as the requesting node"),
	// unsent_test.go covers the status subresource, which this API server does not serve.
	Entry("updates its own", Allows("NR-CSINODE-2"), func(ctx context.Context, e *Env) Request {
		e.Put(ctx, fixtures.CSINode(e.Own))
		return Patch(api.CSINodes).Named(e.Own)
	}),
)

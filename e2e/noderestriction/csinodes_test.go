// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func csiNodeOf(where place) Story {
	return func(_ context.Context, s *Scene) Request {
		return Create(api.CSINodes).With(fixtures.CSINode(where(s)))
	}
}

var _ = DescribeTable("a node and a CSINode", admit,
	Entry("makes its own", Allows("NR-CSINODE-1"), csiNodeOf(own)),
	Entry("does not make another node's", Denies("NR-CSINODE-1"), csiNodeOf(other),
		"can only access CSINode with the same name as the requesting node"),
	// unsent_test.go covers the status subresource, which this API server does not serve.
	Entry("writes its own", Allows("NR-CSINODE-2"), func(ctx context.Context, s *Scene) Request {
		s.Put(ctx, fixtures.CSINode(s.Own))
		return Patch(api.CSINodes).Named(s.Own)
	}),
)

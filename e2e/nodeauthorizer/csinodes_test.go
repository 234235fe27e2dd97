// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	onlyCSINodeVerbs = "can only get, create, update, patch, or delete a CSINode"
	onlyOwnCSINode   = "can only access CSINode with the same name as the requesting node"
	noCSINodeSub     = "cannot authorize CSINode subresources"
	noCSINodeStatus  = "CSINode status access requires CSIVolumeHealth feature"
)

var _ = DescribeTable("a node and a CSINode", decide,
	Entry("creates its own", Allows("NA-CSINODE-1"),
		forNode(own, func(node string) Request { return Create(api.CSINodes).With(fixtures.CSINode(node)) })),
	Entry("does not list CSINodes", Denies("NA-CSINODE-1"), plainly(List(api.CSINodes)), onlyCSINodeVerbs),
	Entry("does not delete all CSINodes", Denies("NA-CSINODE-1"), plainly(DeleteAll(api.CSINodes)), onlyCSINodeVerbs),

	Entry("gets its own", Allows("NA-CSINODE-2"), nodeNamed(own, Get(api.CSINodes).OrMissing())),
	Entry("does not get another node's", Denies("NA-CSINODE-2"), nodeNamed(other, Get(api.CSINodes)), onlyOwnCSINode),
	Entry("patches its own", Allows("NA-CSINODE-2"), nodeNamed(own, Patch(api.CSINodes).OrMissing())),
	Entry("does not patch another node's", Denies("NA-CSINODE-2"), nodeNamed(other, Patch(api.CSINodes)), onlyOwnCSINode),
	Entry("deletes its own", Allows("NA-CSINODE-2"), nodeNamed(own, Delete(api.CSINodes).OrMissing())),
	Entry("does not delete another node's", Denies("NA-CSINODE-2"), nodeNamed(other, Delete(api.CSINodes)),
		onlyOwnCSINode),
	Entry("does not patch the status of its own while CSIVolumeHealth is off", Denies("NA-CSINODE-2"),
		nodeNamed(own, Patch(api.CSINodes).Sub("status")), noCSINodeStatus),
	Entry("does not use another subresource of its own", Denies("NA-CSINODE-2"),
		nodeNamed(own, Get(api.CSINodes).Sub("scale")), noCSINodeSub),
)

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	. "github.com/onsi/ginkgo/v2"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = DescribeTable("a scope applies to the account of the token, not to a similar name:", Attack("T21"), decide,
	Entry("pod of an account with a scope: denied", Denies("NS-POD-1"), podOf(agent), otherPods, "[NA-POD-2]"),
	Entry("pod of an account without a scope: allowed", AllowsBy("NS-POD-1", Behind), podOf(plain), otherPods),
	Entry("pod without annotation, next to an annotated pod of its account: allowed", Allows("NS-PASS-1"), podOf(shared),
		otherPods),
	Entry("token with the claims of another account's pod: denied", Denies("NS-IDENT-3"), forged(ofAnother), otherPods,
		"does not run as"),
)

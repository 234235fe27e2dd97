// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletauth_test proves the rules of kubelet-auth-proxy on a cluster, one
// file for each family of rules: real requests, byte for byte, to the port of a node's
// kubelet, by users with certificates that the cluster has signed and by service
// accounts with tokens that it has issued.
//
// In hardened each refusal names its rule, and so does the proxy's audit line for each
// request, allowed or not. On in-tree the kubelet itself answers at the same port: what
// is not beyond upstream has to have the same status there. Where a rule has to be in
// another mode than hardened has it, the request goes to a second proxy beside that of
// the node.
package kubeletauth_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var suite = framework.NewSuite("kubeletauth", kubeletauth.Rules)

func TestSpecs(t *testing.T) { suite.Run(t) }

// Only hardened has the proxy, and hardened always has it: a spec that finds none
// there fails.
var _ = BeforeEach(func() {
	if suite.Settings.Profile == framework.Parity {
		Skip("parity has no kubelet-auth-proxy: the kubelet answers itself there, as on in-tree, where the same requests " +
			"are made")
	}
})

// must is for what cannot go wrong unless the spec itself is wrong.
func must[T any](value T, err error) T {
	gomega.ExpectWithOffset(1, err).NotTo(gomega.HaveOccurred())
	return value
}

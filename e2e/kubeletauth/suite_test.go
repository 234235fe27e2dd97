// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletauth_test proves the rules of kubelet-auth-proxy on a cluster. There is one file
// for each group of rules. The specs send real requests, byte for byte, to the port of a node's
// kubelet. The users have certificates that the cluster signed, and the service accounts have
// tokens that the cluster issued.
//
// On hardened each denial names its rule. The proxy's audit line names the rule of each request,
// allowed or denied. On in-tree the kubelet itself answers at the same port: a request to which
// only upstream's rules apply must have the same status there. Where a spec needs another rule
// mode, it sends the request to a second proxy next to the node's own.
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

// Only hardened has the proxy, and always has it: a spec fails if it finds none there.
var _ = BeforeEach(func() {
	if suite.Settings.Profile == framework.Parity {
		Skip("parity has no kubelet-auth-proxy: the kubelet answers itself there, as on in-tree, where the same requests " +
			"are made")
	}
})

// must returns the value. It fails the spec on an error that only a mistake in the spec could
// cause.
func must[T any](value T, err error) T {
	gomega.ExpectWithOffset(1, err).NotTo(gomega.HaveOccurred())
	return value
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// onWindows gives the Env's own node a Node of Windows before the request function.
func onWindows(makeRequest RequestFunc) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		node := fixtures.WindowsNode(e.Own, e.Address())
		node.Labels[FakeNodeLabel] = "true"
		node.Spec.Unschedulable = true
		e.Put(ctx, node)
		return makeRequest(ctx, e)
	}
}

// secretOfPodOn creates a pod of Windows containers that mounts a secret, and gets the secret.
func secretOfPodOn(where place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Other)
		secret := fixtures.Secret(e.Namespace(ctx), e.NewName("secret"))
		e.Put(ctx, secret, fixtures.Pod(secret.Namespace, e.NewName("pod"), where(e), fixtures.ForWindows,
			fixtures.WithSecret(secret.Name)))
		return Get(api.Secrets).In(secret.Namespace).Named(secret.Name)
	}
}

// The rules do not depend on the operating system of a node. noderestriction/windows_test.go has the
// writes of a Windows node.
var _ = DescribeTable("a Windows node with a client certificate of the cluster",
	func(ctx SpecContext, makeRequest RequestFunc, text ...string) {
		suite.ExpectClaim(ctx, must(suite.Certified(ctx, suite.Env().Own)), onWindows(makeRequest), text...)
	},
	Entry("gets the secret of a pod that is bound to it", Allows("NA-SECRET-1"), secretOfPodOn(own)),
	Entry("does not get the secret of a pod that is bound to another node", Denies("NA-SECRET-1"), secretOfPodOn(other),
		unrelated),
	Entry("renews its lease", Allows("NA-LEASE-3"),
		writtenLeaseOf(own, fixtures.LeaseNamespace, Update(api.Leases).OrMissing())),
	Entry("does not renew another node's lease", Denies("NA-LEASE-3"),
		writtenLeaseOf(other, fixtures.LeaseNamespace, Update(api.Leases).OrMissing()), onlyOwnLease),
)

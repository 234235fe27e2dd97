// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Both certificates are of one node, issued like those of kubelets. The revocation list has one of
// them.
var _ = Describe("a node whose certificate is revoked", Ordered, ContinueOnFailure, Label(OnHardened), func() {
	var (
		env              *Env
		stolen, good     *Identity
		ownLease, others Request
	)

	BeforeAll(func(ctx SpecContext) {
		// All specs below use the names of this Env.
		env = suite.Env()
		ownLease = leaseOf(own, Get(api.Leases).OrMissing())(ctx, env)
		others = leaseOf(other, Get(api.Leases))(ctx, env)
		var err error
		stolen, err = suite.Certified(ctx, env.Own)
		Expect(err).NotTo(HaveOccurred())
		good, err = suite.Certified(ctx, env.Own)
		Expect(err).NotTo(HaveOccurred())
		// The request is allowed before the revocation, so the later denial is due to the list.
		suite.ExpectAllowed(ctx, stolen, ownLease, "NA-LEASE-3")
		revoked := time.Now()
		env.Revoke(ctx, stolen.CredentialID())
		suite.BecomesRefused(ctx, stolen, ownLease, "NA-REVOKE-1", revoked)
	})

	It("gets its own lease with another certificate", AllowsBy("NA-REVOKE-1", "NA-LEASE-3"), func(ctx SpecContext) {
		suite.ExpectAllowed(ctx, good, ownLease, "NA-LEASE-3")
	})

	It("does not get its own lease with the revoked certificate", Denies("NA-REVOKE-1"), func(ctx SpecContext) {
		suite.ExpectForbidden(ctx, stolen, ownLease, "NA-REVOKE-1", "credential "+stolen.CredentialID()+" is revoked")
	})

	It("does not get its own Node, although the in-tree Node authorizer would allow it", Denies("NA-REVOKE-1"),
		func(ctx SpecContext) {
			suite.ExpectForbidden(ctx, stolen, Get(api.Nodes).Named(env.Own).OrMissing(), "NA-REVOKE-1")
		})

	It("is denied another node's lease because of the credential", Denies("NA-REVOKE-1"), func(ctx SpecContext) {
		suite.ExpectForbidden(ctx, stolen, others, "NA-REVOKE-1")
	})

	It("gets its own lease after the certificate was removed from the list", AllowsBy("NA-REVOKE-1", "NA-LEASE-3"),
		func(ctx SpecContext) {
			env.Unrevoke(ctx, stolen.CredentialID())
			Eventually(ctx, func() (Answer, error) { return suite.Do(ctx, stolen, ownLease) }).
				WithTimeout(Soon).WithPolling(100 * time.Millisecond).Should(AllowedBy(suite.Settings.Profile, "NA-LEASE-3"))
		})
})

var _ = Describe("a node that is revoked by its name", Ordered, ContinueOnFailure, Label(OnHardened), func() {
	var (
		env               *Env
		certified, others *Identity
		ownLease          Request
	)

	BeforeAll(func(ctx SpecContext) {
		env = suite.Env()
		ownLease = leaseOf(own, Get(api.Leases).OrMissing())(ctx, env)
		certified, others = must(suite.Certified(ctx, env.Own)), must(suite.Certified(ctx, env.Other))
		suite.ExpectAllowed(ctx, certified, ownLease, "NA-LEASE-3")
		revoked := time.Now()
		env.Revoke(ctx, revocationlist.IDOfNode(env.Own))
		suite.BecomesRefused(ctx, certified, ownLease, "NA-REVOKE-1", revoked)
	})

	It("does not get its own lease with a certificate whose ID is not on the list", Denies("NA-REVOKE-1"),
		func(ctx SpecContext) {
			suite.ExpectForbidden(ctx, certified, ownLease, "NA-REVOKE-1", "node "+env.Own+" is revoked")
		})

	It("does not get its own lease with a certificate that it got afterwards", Denies("NA-REVOKE-1"),
		func(ctx SpecContext) {
			suite.ExpectForbidden(ctx, must(suite.Certified(ctx, env.Own)), ownLease, "NA-REVOKE-1")
		})

	It("does not affect the lease of another node", AllowsBy("NA-REVOKE-1", "NA-LEASE-3"), func(ctx SpecContext) {
		suite.ExpectAllowed(ctx, others, leaseOf(other, Get(api.Leases).OrMissing())(ctx, env), "NA-LEASE-3")
	})
})

// withRevokedCredential returns the Env's own node with a revoked credential, by impersonation.
// It returns once node-authorizer has the list.
func withRevokedCredential(ctx context.Context, env *Env) *Identity {
	GinkgoHelper()
	id := "JTI=" + string(uuid.NewUUID())
	before := must(suite.ComponentMetric(ctx, "bulkhead_revoked_credentials", ""))
	env.Revoke(ctx, id)
	Eventually(ctx, func() (float64, error) { return suite.ComponentMetric(ctx, "bulkhead_revoked_credentials", "") }).
		WithTimeout(Soon).WithPolling(100 * time.Millisecond).Should(Equal(before + 1))
	node := suite.AsNode(env.Own)
	return suite.AsForged(Bearer{User: node.User, Groups: node.Groups,
		Extra: map[string][]string{user.CredentialIDKey: {id}}})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// distributed bounds the time until a changed ConfigMap is in force in its pods. The kubelet
// updates it about once a minute, and the proxy reads it every ten seconds.
const distributed = 3 * time.Minute

// denies reports whether the request is answered with 401.
func denies(ctx context.Context, port *Port, who Caller) func() (bool, error) {
	return func() (bool, error) {
		reply, err := port.Send(ctx, who, health)
		return reply.Code == http.StatusUnauthorized, err
	}
}

// The list is the cluster's ConfigMap, which the kubelet mounts into the node's own proxy.
var _ = Describe("a credential on the cluster's list", Ordered, ContinueOnFailure, SpecPriority(1),
	Label(OnHardened, Slow), func() {
		var (
			port                *Port
			holder, token       *Identity
			stolen, otherCaller Caller
			stolenToken, other  Caller
			node, otherNode     Caller
			inside              insider
		)

		BeforeAll(func(ctx SpecContext) {
			port = kubelet(ctx)
			holder = identity(ctx, healthy)
			stolen = must(holder.Caller())
			otherCaller = must(must(suite.CertifiedUser(ctx, holder.User)).Caller())
			stolenToken, other = bearer(ctx, "", healthy), bearer(ctx, "", healthy)
			token = suite.AsBearer(must(suite.ReadToken(ctx, stolenToken.Token)))
			inside = newInsider(ctx, healthy)
			insideToken := suite.AsBearer(must(suite.ReadToken(ctx, inside.own.Token)))
			for _, who := range []Caller{stolen, otherCaller, stolenToken, other, inside.own, inside.forKubelets} {
				// The request succeeds before the revocation, so the later denial is due to the list.
				Expect(send(ctx, port, who, health).Code).To(Equal(http.StatusOK))
			}
			node = must(must(suite.Certified(ctx, suite.Env().Own)).Caller())
			otherNode = must(must(suite.Certified(ctx, suite.Env().Other)).Caller())
			Expect(send(ctx, port, node, health).Code).To(Equal(http.StatusForbidden))
			suite.Env().Revoke(ctx, holder.CredentialID())
			suite.Env().Revoke(ctx, token.CredentialID())
			suite.Env().Revoke(ctx, insideToken.CredentialID())
			suite.Env().Revoke(ctx, revocationlist.IDOfNode(suite.Env().Own))
			for _, who := range []Caller{stolen, stolenToken, node, inside.own} {
				Eventually(ctx, denies(ctx, port, who)).WithTimeout(distributed).WithPolling(time.Second).Should(BeTrue(),
					"the list has come to the node")
			}
		}, NodeTimeout(2*distributed))

		It("is denied as a client certificate", Denies("KA-REVOKE-1"), func(ctx SpecContext) {
			_, line := expectClaim(ctx, port, stolen, health, http.StatusUnauthorized)
			Expect(line.User).To(BeEmpty())
		})

		It("does not affect another certificate of the same user", AllowsBy("KA-REVOKE-1", "KA-HEALTH-1"),
			func(ctx SpecContext) {
				expectClaim(ctx, port, otherCaller, health)
			})

		It("is denied as a token", Denies("KA-REVOKE-1"), func(ctx SpecContext) {
			expectClaim(ctx, port, stolenToken, health, http.StatusUnauthorized)
		})

		It("does not affect another token", AllowsBy("KA-REVOKE-1", "KA-HEALTH-1"), func(ctx SpecContext) {
			expectClaim(ctx, port, other, health)
		})

		It("is denied as the token of a pod, from inside the pod", Denies("KA-REVOKE-1"), func(ctx SpecContext) {
			expectClaim(ctx, inside.to(port), inside.own, health, http.StatusUnauthorized)
		})

		It("does not affect another token of that pod, from inside the pod", AllowsBy("KA-REVOKE-1", "KA-HEALTH-1"),
			func(ctx SpecContext) {
				expectClaim(ctx, inside.to(port), inside.forKubelets, health)
			})

		It("is denied as a certificate of a node whose name is on the list", Denies("KA-REVOKE-1"), func(ctx SpecContext) {
			expectClaim(ctx, port, node, health, http.StatusUnauthorized)
			// The rights decide about a node that is not on the list. It has none.
			Expect(send(ctx, port, otherNode, health).Code).To(Equal(http.StatusForbidden))
		})

		It("is accepted again after its removal from the list",
			AllowsBy("KA-REVOKE-1", "KA-HEALTH-1"), func(ctx SpecContext) {
				suite.Env().Unrevoke(ctx, holder.CredentialID())
				Eventually(ctx, denies(ctx, port, stolen)).WithTimeout(distributed).WithPolling(time.Second).Should(BeFalse())
				expectClaim(ctx, port, stolen, health)
			}, NodeTimeout(2*distributed))
	})

// The second proxy never reads the list's file: it reads the saved state of the first proxy.
var _ = Describe("a revocation list that was removed", Ordered, Label(OnHost, OnHardened, Slow), func() {
	It("is in force after a restart", Denies("KA-CRL-1"), func(ctx SpecContext) {
		folder, state, ca := listsFolder(ctx), listsFolder(ctx), clusterAuthority(ctx)
		_, err := suite.Host.Run(ctx, target(), "chown 65532:65532 "+state)
		Expect(err).NotTo(HaveOccurred())
		revoked := caller(ctx, healthy)
		otherCaller := ca.certify(revoked.User)
		side := SideProxy{
			Flags:       []string{"--client-crl=" + folder, "--client-crl-state=" + state},
			Directories: []string{folder}, Writable: []string{state},
		}
		first := startSideProxy(ctx, side)
		Expect(send(ctx, first, revoked, health).Code).To(Equal(http.StatusOK))
		revoke(ctx, first, folder, ca.list(time.Hour, revoked), 1)
		Eventually(ctx, func() (string, error) { return suite.Host.Run(ctx, target(), "ls "+state) }).
			WithTimeout(relisted).WithPolling(time.Second).Should(ContainSubstring(".crl"))
		_, err = suite.Host.Run(ctx, target(), "rm "+folder+"/*.pem")
		Expect(err).NotTo(HaveOccurred())
		second := startSideProxy(ctx, side)
		expectClaim(ctx, second, revoked, health, http.StatusUnauthorized)
		Expect(send(ctx, second, otherCaller, health).Code).To(Equal(http.StatusOK))
	})
})

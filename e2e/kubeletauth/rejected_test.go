// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"crypto/x509"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// rejected makes a call that must be answered with 401. The audit log must name no user.
func rejected(ctx context.Context, who Caller, call Call) {
	GinkgoHelper()
	_, line := expectClaim(ctx, kubelet(ctx), who, call, http.StatusUnauthorized)
	Expect(line.User).To(BeEmpty())
}

var _ = Describe("a caller without valid credentials is rejected:", func() {
	It("certificate of an unknown CA", Denies("KA-AUTH-1"), func(ctx SpecContext) {
		good := caller(ctx, healthy)
		rejected(ctx, strangeAuthority().certify(good.User), health)
	})

	DescribeTable("certificate of the cluster's CA", Denies("KA-AUTH-1"), Label(OnHost),
		func(ctx SpecContext, change func(*x509.Certificate)) {
			good := caller(ctx, healthy)
			rejected(ctx, clusterAuthority(ctx).certify(good.User, change), health)
		},
		Entry("that has expired", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
		Entry("that is not yet valid", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) }),
		Entry("for servers only",
			func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }),
		Entry("without a common name", func(c *x509.Certificate) { c.Subject.CommonName = "" }),
	)

	It("certificate of the cluster's CA that is valid: accepted", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), Label(OnHost),
		func(ctx SpecContext) {
			expectClaim(ctx, kubelet(ctx), clusterAuthority(ctx).certify(caller(ctx, healthy).User), health)
		})

	It("expired token", Denies("KA-AUTH-1"), Label(OnHost), func(ctx SpecContext) {
		rejected(ctx, withLifetime(ctx, bearer(ctx, "", healthy), -time.Minute), health)
	})

	It("token for another audience", Denies("KA-AUTH-1"), func(ctx SpecContext) {
		rejected(ctx, bearer(ctx, foreignAudience, healthy), health)
	})

	It("token of a deleted service account", Denies("KA-AUTH-1"), func(ctx SpecContext) {
		who := bearer(ctx, "", healthy)
		gone := who.User[strings.LastIndexByte(who.User, ':')+1:]
		Expect(suite.Client.CoreV1().ServiceAccounts(suite.Env().Namespace(ctx)).Delete(ctx, gone,
			metav1.DeleteOptions{})).To(Succeed())
		rejected(ctx, who, health)
	})

	It("token with one changed character", Denies("KA-AUTH-1"), func(ctx SpecContext) {
		who := bearer(ctx, "", healthy)
		spoiled := []byte(who.Token)
		// Do not change the last character: some of its bits have no meaning.
		at := len(spoiled) - 10
		spoiled[at] = map[bool]byte{true: 'B', false: 'A'}[spoiled[at] == 'A']
		who.Token = string(spoiled)
		rejected(ctx, who, health)
	})

	It("valid token after an invalid one", Denies("KA-AUTH-1"), func(ctx SpecContext) {
		good := bearer(ctx, "", healthy)
		rejected(ctx, Caller{Token: "not-a-token"}, health.With("Authorization: Bearer "+good.Token))
	})

	It("invalid token in a sub-protocol", Denies("KA-AUTH-1"), func(ctx SpecContext) {
		rejected(ctx, Anonymous(), bySubprotocol(get(processes[0].path), "not-a-token"))
	})

	DescribeTable("Authorization header", Denies("KA-AUTH-1"),
		func(ctx SpecContext, value string) { rejected(ctx, Anonymous(), health.With("Authorization: "+value)) },
		Entry("that is garbage", "Bearer not-a-token"),
		Entry("that is empty", "Bearer "),
		Entry("of another scheme", "Basic YWRtaW46YWRtaW4="),
		Entry("that claims to be the API server's token", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06YWRtaW4ifQ."),
	)

	DescribeTable("user name in a header", Denies("KA-AUTH-1"), Attack("T24"),
		func(ctx SpecContext, lines ...string) { rejected(ctx, Anonymous(), health.With(lines...)) },
		Entry("X-Remote headers", "X-Remote-User: system:admin", "X-Remote-Group: system:masters"),
		Entry("impersonation headers", "Impersonate-User: system:admin", "Impersonate-Group: system:masters"),
		Entry("X-Forwarded headers", "X-Forwarded-User: system:admin", "Forwarded: for=127.0.0.1",
			"X-Forwarded-For: 127.0.0.1"),
	)

	It("no credentials", DeniesBy("KA-ANON-1", "KA-AUTH-1"), func(ctx SpecContext) { rejected(ctx, Anonymous(), health) })
})

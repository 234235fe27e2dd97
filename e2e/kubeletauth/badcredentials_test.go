// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Limits for the credentials and the time of one client.
var _ = Describe("excessive or malformed credentials", Label(OnHost, OnHardened), func() {
	port := checkDamage()

	DescribeTable("a token is rejected:", Denies("KA-LIMIT-1"),
		func(ctx SpecContext, size, code int) {
			token := strings.Repeat("x", size)
			for _, call := range []Call{health.With("Authorization: Bearer " + token),
				bySubprotocol(get(processes[0].path), token)} {
				reply := must(port().Send(ctx, Anonymous(), call))
				Expect(reply.Code).To(Equal(code), reply.String())
				if code == http.StatusUnauthorized {
					suite.ExpectDenied(ctx, reply, code, "KA-LIMIT-1")
				}
			}
		},
		Entry("of 20 KB", 20_000, http.StatusUnauthorized),
		Entry("of 100 KB", 100_000, http.StatusRequestHeaderFieldsTooLarge),
	)

	DescribeTable("a certificate is rejected:", Denies("KA-LIMIT-1"),
		func(ctx SpecContext, groups int) {
			who := clusterAuthority(ctx).certify("e2e-many", func(c *x509.Certificate) {
				for i := range groups {
					c.Subject.Organization = append(c.Subject.Organization, fmt.Sprintf("g%d", i))
				}
			})
			suite.ExpectDenied(ctx, must(port().Send(ctx, who, health)), http.StatusUnauthorized, "KA-LIMIT-1")
		},
		Entry("with 1,001 organizations", 1001),
	)

	// A certificate of this size would stay in memory as long as the connection. So the handshake
	// fails and there is no connection.
	It("a certificate with 10,000 organizations ends the TLS handshake", Denies("KA-LIMIT-1"), func(ctx SpecContext) {
		who := clusterAuthority(ctx).certify("e2e-many", func(c *x509.Certificate) {
			for i := range 10_000 {
				c.Subject.Organization = append(c.Subject.Organization, fmt.Sprintf("g%d", i))
			}
		})
		reply, err := port().Send(ctx, who, health)
		Expect(err).To(HaveOccurred(), "%v", reply)
		Expect(send(ctx, port(), caller(ctx, healthy), health).Code).To(Equal(http.StatusOK))
	})

	It("a certificate with 1,000 organizations is accepted", AllowsBy("KA-LIMIT-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		user := caller(ctx, healthy).User
		who := clusterAuthority(ctx).certify(user, func(c *x509.Certificate) {
			for i := range 1000 {
				c.Subject.Organization = append(c.Subject.Organization, fmt.Sprintf("g%d", i))
			}
		})
		expectClaim(ctx, port(), who, health)
	})

	DescribeTable("a sub-protocol with a token is rejected:", Denies("KA-AUTH-1"),
		func(ctx SpecContext, protocols ...string) {
			reply := must(port().Send(ctx, Anonymous(), get(processes[0].path).Upgrading(protocols...)))
			suite.ExpectDenied(ctx, reply, http.StatusUnauthorized, "KA-AUTH-1")
		},
		Entry("that is not base64", "base64url.bearer.authorization.k8s.io.%%%", "v5.channel.k8s.io"),
		Entry("that is not UTF-8", "base64url.bearer.authorization.k8s.io._w", "v5.channel.k8s.io"),
		Entry("that is empty", "base64url.bearer.authorization.k8s.io.", "v5.channel.k8s.io"),
		Entry("that occurs twice", "base64url.bearer.authorization.k8s.io.YQ", "base64url.bearer.authorization.k8s.io.Yg",
			"v5.channel.k8s.io"),
		Entry("without another sub-protocol", "base64url.bearer.authorization.k8s.io.YQ"),
		Entry("among a thousand commas", strings.Repeat(",", 1000), "base64url.bearer.authorization.k8s.io.YQ"),
	)

	It("an incomplete request header: the connection is closed", Denies("KA-LIMIT-1"), Label(Slow), func(ctx SpecContext) {
		open := must(port().Dial(ctx, caller(ctx, everything)))
		DeferCleanup(func() { _ = open.Close() })
		Expect(open.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
		must(io.WriteString(open, "GET /healthz HTTP/1.1\r\nHost: e2e\r\nX-E2E: "))
		_, err := io.ReadAll(open.Reader)
		var late net.Error
		Expect(errors.As(err, &late) && late.Timeout()).To(BeFalse(), "the connection was open for a minute")
	})

	It("an incomplete body: an answer is sent", Denies("KA-LIMIT-1"), Label(Slow), func(ctx SpecContext) {
		open := must(port().Dial(ctx, caller(ctx, everything)))
		DeferCleanup(func() { _ = open.Close() })
		Expect(open.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
		reply := must(open.Send(
			Calling(http.MethodPost, "/run"+noContainer+"?cmd=true").With("Content-Length: 10").Then("half")))
		suite.ExpectDenied(ctx, reply, http.StatusBadRequest, "KA-LIMIT-1")
		expectShut(open)
	})

	It("a request without TLS is rejected", Denies("KA-LIMIT-1"), func(ctx SpecContext) {
		open := must(new(net.Dialer).DialContext(ctx, "tcp", port().Address))
		DeferCleanup(open.Close)
		Expect(open.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
		must(open.Write(health.Bytes(port().Address, Anonymous())))
		answer := must(io.ReadAll(open))
		Expect(string(answer)).To(HavePrefix("HTTP/1.0 400 Bad Request\r\n"))
	})
})

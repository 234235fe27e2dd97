// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"crypto/x509"
	"maps"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Admission rejects the requests that the approver would not approve, so the approver never sees
// them. Here that rule is off.
var _ = Describe("while NR-CSR-2 is off, the approver does not approve", Serial, Ordered,
	Label(Disruptive, OnHost, OnHardened, Slow), func() {
		BeforeAll(func(ctx SpecContext) {
			installed := must(suite.ReadInstallation(ctx))
			DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, installed.Command()) })
			loose := installed
			loose.Extensions.RuleModes = maps.Clone(installed.Extensions.RuleModes)
			if loose.Extensions.RuleModes == nil {
				loose.Extensions.RuleModes = map[string]string{}
			}
			loose.Extensions.RuleModes["NR-CSR-2"] = "off"
			began := time.Now()
			suite.OnControlPlane(ctx, loose.Command())
			Measured("switching a rule of node-restriction off", time.Since(began).Round(time.Second).String())
		})

		BeforeEach(func(ctx SpecContext) { addressed(ctx) })

		DescribeTable("a request", Denies("KA-CSR-1"),
			func(ctx SpecContext, change func(*asking)) {
				asked := asKubeletsAsk()
				change(&asked)
				expectLeft(ctx, suite.AsNode(suite.Env().Own), asked)
			},
			Entry("with another node's name", func(a *asking) { a.DNSNames = append(a.DNSNames, suite.Env().Other) }),
			Entry("with the API server's name", func(a *asking) { a.DNSNames = append(a.DNSNames, "kubernetes.default.svc") }),
			Entry("with a foreign address", func(a *asking) { a.IPAddresses = append(a.IPAddresses, net.ParseIP("192.0.2.8")) }),
			Entry("for a client's usages", func(a *asking) { a.usage = certificatesv1.UsageClientAuth }),
			Entry("without any name", func(a *asking) { a.CertificateRequest = &x509.CertificateRequest{Subject: a.Subject} }),
		)

		It("approves a request with the node's name and address", Allows("KA-CSR-1"), func(ctx SpecContext) {
			name, _ := request(ctx, suite.AsNode(suite.Env().Own), asKubeletsAsk())
			Eventually(ctx, approval).WithArguments(name).WithTimeout(signTimeout).WithPolling(100 * time.Millisecond).Should(
				Equal(byBulkhead))
		})
	})

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// full sets a device of Linux whose writes fail with "no space left on device".
const full = "--audit-log-path=/dev/full"

var _ = Describe("a proxy whose audit log cannot be written", Ordered, ContinueOnFailure, Label(OnHost, OnHardened),
	func() {
		var port *Port

		BeforeAll(func(ctx SpecContext) { port = startSideProxy(ctx, SideProxy{Flags: []string{full}}) })

		refused := func(ctx SpecContext, has rights, call Call) {
			GinkgoHelper()
			reply := must(port.Send(ctx, caller(ctx, has), call))
			Expect(reply.Code).To(Equal(http.StatusServiceUnavailable), reply.String())
			Expect(reply.Body).To(HaveSuffix("[KA-AUDIT-1]\n"))
		}

		It("forwards no exec", Denies("KA-AUDIT-1"), func(ctx SpecContext) {
			pod := newExecPaths(ctx)
			refused(ctx, may("create", "exec"), get(pod.exec).Upgrading("v4.channel.k8s.io"))
		})

		It("forwards no read", Denies("KA-AUDIT-1"), func(ctx SpecContext) {
			refused(ctx, healthy, health)
			Expect(suite.KubeletProxyMetric(ctx, port, "bulkhead_kubelet_requests_total", `rule="KA-AUDIT-1"`)).To(
				BeNumerically(">", 0))
		})

		It("denies a caller without the right by the rule of that right", DeniesBy("KA-AUDIT-1", "KA-HEALTH-1"),
			func(ctx SpecContext) {
				reply := must(port.Send(ctx, caller(ctx), health))
				Expect(reply.Code).To(Equal(http.StatusForbidden), reply.String())
				Expect(reply.Body).To(HaveSuffix("[KA-HEALTH-1]\n"))
			})

		It("forwards where the rule is off, and counts the lines", AllowsBy("KA-AUDIT-1", "KA-HEALTH-1"),
			func(ctx SpecContext) {
				off := startSideProxy(ctx, SideProxy{Flags: []string{full, "--rule-mode=KA-AUDIT-1=off"}})
				reply := must(off.Send(ctx, caller(ctx, healthy), health))
				Expect(reply.Code).To(Equal(http.StatusOK), reply.String())
				Eventually(ctx, func() (float64, error) {
					return suite.KubeletProxyMetric(ctx, off, "bulkhead_audit_lines_dropped_total", `reason="write"`)
				}).WithTimeout(Soon).WithPolling(200 * time.Millisecond).Should(BeNumerically(">", 0))
			})

		It("forwards where the rule is audited, and counts the request", AllowsBy("KA-AUDIT-1", "KA-HEALTH-1"),
			func(ctx SpecContext) {
				audited := startSideProxy(ctx, SideProxy{Flags: []string{full, "--rule-mode=KA-AUDIT-1=audit"}})
				reply := must(audited.Send(ctx, caller(ctx, healthy), health))
				Expect(reply.Code).To(Equal(http.StatusOK), reply.String())
				Expect(suite.KubeletProxyMetric(ctx, audited, "bulkhead_audited_refusals_total", `rule="KA-AUDIT-1"`)).To(
					BeEquivalentTo(1))
			})
	})

var _ = It("with an audit log, a request has a line before it is forwarded and one after",
	AllowsBy("KA-AUDIT-1", "KA-HEALTH-1"), Label(OnHost, OnHardened),
	func(ctx SpecContext) {
		reply, _ := expectClaim(ctx, kubelet(ctx), caller(ctx, healthy), health)
		lines, err := suite.KubeletAudited(ctx, reply)
		Expect(err).NotTo(HaveOccurred())
		Expect(lines).To(HaveExactElements(HaveField("Stage", "begin"), HaveField("Stage", "request")))
	})

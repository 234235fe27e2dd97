// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"io"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// processStart returns the start time of a proxy's process.
func processStart(ctx context.Context, port *Port) float64 {
	GinkgoHelper()
	return must(suite.KubeletProxyMetric(ctx, port, "process_start_time_seconds", ""))
}

// expectNoDamage expects that the proxy did not restart, is ready, and serves requests.
func expectNoDamage(ctx context.Context, port *Port, before float64) {
	GinkgoHelper()
	Expect(suite.KubeletProxyReady(ctx, port)).To(Succeed())
	Expect(processStart(ctx, port)).To(Equal(before), "the process was restarted")
	reply := must(port.Send(ctx, caller(ctx, healthy), health))
	Expect(reply.Code).To(Equal(http.StatusOK), reply.String())
}

// expectShut expects that a connection sends nothing more. So data after or in a call was not read
// as another call.
func expectShut(open *Connection) {
	GinkgoHelper()
	rest, err := io.ReadAll(open.Reader)
	Expect(rest).To(BeEmpty())
	if err != nil {
		Expect(err).To(MatchError(ContainSubstring("connection reset")))
	}
}

const smuggled = "GET /pods HTTP/1.1\r\nHost: smuggled\r\n\r\n"

// checkDamage checks after each spec of a container that the target's proxy did not restart, is
// ready and serves requests. It returns a function that returns the port.
func checkDamage() func() *Port {
	var (
		port   *Port
		before float64
	)
	BeforeEach(func(ctx SpecContext) {
		port = kubelet(ctx)
		before = processStart(ctx, port)
	})
	AfterEach(func(ctx SpecContext) { expectNoDamage(ctx, port, before) })
	return func() *Port { return port }
}

// expectLast makes a call on a connection that the proxy must then close.
func expectLast(ctx context.Context, port *Port, who Caller, call Call) Reply {
	GinkgoHelper()
	open := must(port.Dial(ctx, who))
	DeferCleanup(func() { _ = open.Close() })
	reply := must(open.Send(call))
	expectShut(open)
	return reply
}

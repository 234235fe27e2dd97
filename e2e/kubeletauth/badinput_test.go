// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The caller has all rights, so a denial is not due to missing rights.
var _ = Describe("bad input", Label(OnHost, OnHardened), func() {
	port := checkDamage()

	DescribeTable("is rejected by the rule, and ends the connection:", Denies("KA-LIMIT-1"),
		func(ctx SpecContext, call Call, code int) {
			reply := expectLast(ctx, port(), caller(ctx, everything), call)
			suite.ExpectDenied(ctx, reply, code, "KA-LIMIT-1")
		},
		Entry("a body above the limit",
			Calling(http.MethodPost, "/run"+noContainer+"?cmd=true").Sending(strings.Repeat("x", 17<<10)),
			http.StatusRequestEntityTooLarge),
		Entry("a body without a length",
			Calling(http.MethodPost,
				"/run"+noContainer+"?cmd=true").With("Transfer-Encoding: chunked").Then("0\r\n\r\n"+smuggled),
			http.StatusLengthRequired),
		Entry("a length and an encoding",
			get("/healthz").With("Content-Length: 5", "Transfer-Encoding: chunked").Then("0\r\n\r\n"+smuggled),
			http.StatusLengthRequired),
		Entry("an encoding and a length",
			get("/healthz").With("Transfer-Encoding: chunked", "Content-Length: 0").Then("0\r\n\r\n"+smuggled),
			http.StatusLengthRequired),
		Entry("an upgrade to HTTP/2 in clear text",
			health.With("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
				"HTTP2-Settings: AAMAAABkAAQAAP__").Then("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), http.StatusBadRequest),
		Entry("an Upgrade header without Connection: Upgrade",
			get(processes[0].path).With("Upgrade: websocket").Then(smuggled), http.StatusBadRequest),
		Entry("Connection: Upgrade without an Upgrade header",
			get(processes[0].path).With("Connection: Upgrade").Then(smuggled),
			http.StatusBadRequest),
		Entry("an upgrade to two protocols",
			get(processes[0].path).With("Connection: Upgrade", "Upgrade: websocket", "Upgrade: SPDY/3.1").Then(smuggled),
			http.StatusBadRequest),
		Entry("an upgrade to one of two protocols",
			get(processes[0].path).With("Connection: Upgrade", "Upgrade: websocket, SPDY/3.1").Then(smuggled),
			http.StatusBadRequest),
		Entry("a Connection header that is almost Upgrade",
			get(processes[0].path).With("Connection: x-upgrade").Then(smuggled),
			http.StatusBadRequest),
	)

	DescribeTable("is rejected by the HTTP server, and ends the connection:", Denies("KA-LIMIT-1"),
		func(ctx SpecContext, call Call, code int) {
			Expect(expectLast(ctx, port(), caller(ctx, everything), call).Code).To(Equal(code))
		},
		Entry("headers of 64 KiB", health.With("X-E2E: "+strings.Repeat("x", 64<<10)),
			http.StatusRequestHeaderFieldsTooLarge),
		Entry("64 KiB in many headers", health.With(slices.Repeat([]string{"X-E2E: " + strings.Repeat("x", 1<<10)}, 64)...),
			http.StatusRequestHeaderFieldsTooLarge),
		Entry("a path of 64 KiB", get("/healthz/"+strings.Repeat("x", 64<<10)), http.StatusRequestHeaderFieldsTooLarge),
		Entry("two lengths", health.With("Content-Length: 5", "Content-Length: 6").Then("12345"+smuggled),
			http.StatusBadRequest),
		Entry("a length that is a sum", health.With("Content-Length: +5").Then("12345"+smuggled), http.StatusBadRequest),
		Entry("a negative length", health.With("Content-Length: -1").Then(smuggled), http.StatusBadRequest),
		Entry("an encoding with a space before the colon",
			health.With("Transfer-Encoding : chunked").Then("0\r\n\r\n"+smuggled), http.StatusBadRequest),
		Entry("an unknown encoding", health.With("Transfer-Encoding: xchunked").Then(smuggled),
			http.StatusNotImplemented),
		Entry("two encodings", health.With("Transfer-Encoding: chunked, identity").Then("0\r\n\r\n"+smuggled),
			http.StatusNotImplemented),
		Entry("a header with a continuation line",
			health.With("X-E2E: a\r\n b", "Transfer-Encoding:\r\n chunked").Then("0\r\n\r\n"+smuggled),
			http.StatusLengthRequired),
		Entry("a header with a NUL", health.With("X-E2E: a\x00b"), http.StatusBadRequest),
		Entry("a second host", health.With("Host: elsewhere"), http.StatusBadRequest),
		Entry("an unknown HTTP version", Call{Method: "GET", Target: "/healthz HTTP/9.9\r\nX-E2E: a"},
			http.StatusHTTPVersionNotSupported),
	)

	It("at the limit is served: a body of 16 KiB, a header of 16 KiB, and a usual token", Allows("KA-LIMIT-1"),
		func(ctx SpecContext) {
			call := Calling(http.MethodPost,
				"/run"+noContainer+"?cmd=true").With("X-E2E: " + strings.Repeat("x", 16<<10)).Sending(strings.Repeat("x", 16<<10))
			reply := send(ctx, port(), bearer(ctx, "", everything), call)
			suite.ExpectForwarded(ctx, reply, http.StatusNotFound, "KA-RUN-1")
		})
})

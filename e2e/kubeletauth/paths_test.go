// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The caller has all rights, so a denial is not due to missing rights.
var _ = DescribeTable("an ambiguous path is rejected before authentication:",
	Attack("T24"),
	func(ctx SpecContext, call Call) {
		_, line := expectClaim(ctx, kubelet(ctx), caller(ctx, everything), call, http.StatusBadRequest)
		Expect(line.User).To(BeEmpty(), "the proxy made a token review")
	},
	Entry("an empty segment in front", Denies("KA-PATH-1"), get("//pods")),
	Entry("an empty segment before exec", Denies("KA-PATH-1"), Calling(http.MethodPost, "//exec"+noContainer)),
	Entry("an empty segment in the middle", Denies("KA-PATH-1"), Calling(http.MethodPost, "/exec//default/e2e-none/none")),
	Entry("an empty segment at the end", Denies("KA-PATH-1"), get("/pods//")),
	Entry("no path at all", Denies("KA-PATH-1"), Calling(http.MethodOptions, "*")),

	Entry("a dot", Denies("KA-PATH-2"), get("/pods/.")),
	Entry("a dot in front", Denies("KA-PATH-2"), get("/./pods")),
	Entry("dots from health to exec", Denies("KA-PATH-2"), Calling(http.MethodPost, "/healthz/../exec"+noContainer)),
	Entry("dots out of the logs", Denies("KA-PATH-2"), get("/logs/../pods")),
	Entry("encoded dots out of the logs", Denies("KA-PATH-2"), get("/logs/%2e%2e/pods")),
	Entry("dots, one of them encoded", Denies("KA-PATH-2"), get("/logs/.%2E/pods")),

	Entry("an encoded slash", Denies("KA-PATH-3"), Calling(http.MethodPost, "/exec%2Fdefault/e2e-none/none")),
	Entry("an encoded slash in lower case", Denies("KA-PATH-3"), get("/logs/a%2fb")),
	Entry("a backslash", Denies("KA-PATH-3"), get(`/logs/a\b`)),
	Entry("an encoded backslash", Denies("KA-PATH-3"), get("/logs/%5c")),
	Entry("a NUL", Denies("KA-PATH-3"), get("/pods%00")),
	Entry("a line break", Denies("KA-PATH-3"), get("/logs/a%0d%0ab")),
	Entry("a double encoding", Denies("KA-PATH-3"), get("/logs/%252e%252e/pods")),
	Entry("invalid UTF-8", Denies("KA-PATH-3"), get("/logs/%ff%fe")),
	Entry("a right-to-left override", Denies("KA-PATH-3"), get("/logs/%e2%80%ae")),

	Entry("exec with a capital", Denies("KA-PATH-4"), Calling(http.MethodPost, "/Exec"+noContainer)),
	Entry("portForward in lower case", Denies("KA-PATH-4"), Calling(http.MethodPost, "/portforward/default/e2e-none")),
	Entry("a parameter", Denies("KA-PATH-4"), Calling(http.MethodPost, "/exec;a=b"+noContainer)),
	Entry("a trailing dot", Denies("KA-PATH-4"), Calling(http.MethodPost, "/exec."+noContainer)),
	Entry("a trailing space", Denies("KA-PATH-4"), get("/pods%20")),
)

// These paths are legitimate counterparts: they differ only in what the rule checks, and reach the
// kubelet.
var _ = DescribeTable("a usual path is accepted:",
	func(ctx SpecContext, call Call, code int) {
		expectClaim(ctx, kubelet(ctx), caller(ctx, everything), call, code)
	},
	Entry("one slash in front", AllowsBy("KA-PATH-1", "KA-POD-1"), get("/pods"), http.StatusOK),
	Entry("one slash in the middle", AllowsBy("KA-PATH-1", "KA-EXEC-1"), Calling(http.MethodPost, processes[0].path),
		http.StatusNotFound),
	Entry("one slash at the end", AllowsBy("KA-PATH-1", "KA-LOG-1"), get("/logs/"), http.StatusOK),
	Entry("dots in a name", AllowsBy("KA-PATH-2", "KA-LOG-1"), get("/logs/..e2e..none"), http.StatusNotFound),
	Entry("a dot that is encoded in a name", AllowsBy("KA-PATH-2", "KA-LOG-1"), get("/logs/e2e%2enone"),
		http.StatusNotFound),
	Entry("a single encoding", AllowsBy("KA-PATH-3", "KA-LOG-1"), get("/logs/e2e%20none%c3%a9"), http.StatusNotFound),
	Entry("a percent sign that encodes nothing", AllowsBy("KA-PATH-3", "KA-LOG-1"), get("/logs/e2e-100%25"),
		http.StatusNotFound),
	Entry("endpoints in their own letter case", AllowsBy("KA-PATH-4", "KA-PORT-1"),
		Calling(http.MethodPost, "/portForward/default/e2e-none?port=80"), http.StatusNotFound),
	Entry("an unknown path", AllowsBy("KA-PATH-4", "KA-UNKNOWN-1"), get("/e2e-nothing"), http.StatusNotFound),
)

var _ = Describe("a method for proxies", Attack("T24"), func() {
	It("TRACE is rejected", Denies("KA-METHOD-1"), func(ctx SpecContext) {
		reply, _ := expectClaim(ctx, kubelet(ctx), caller(ctx, everything),
			Calling(http.MethodTrace, "/healthz").With("X-E2E: repeated"), http.StatusMethodNotAllowed)
		Expect(reply.Body).NotTo(ContainSubstring("repeated"))
	})
	It("CONNECT to a path is rejected", Denies("KA-METHOD-1"), func(ctx SpecContext) {
		expectClaim(ctx, kubelet(ctx), caller(ctx, everything), Calling(http.MethodConnect, "/exec"+noContainer),
			http.StatusMethodNotAllowed)
	})
	It("CONNECT to a host is rejected", Denies("KA-METHOD-1"), func(ctx SpecContext) {
		expectClaim(ctx, kubelet(ctx), caller(ctx, everything), Calling(http.MethodConnect, "127.0.0.1:10250"),
			http.StatusMethodNotAllowed)
	})
	It("TRACE is rejected over HTTP/2", Denies("KA-METHOD-1"), func(ctx SpecContext) {
		expectOverHTTP2(ctx, http.MethodTrace, http.StatusMethodNotAllowed, "KA-METHOD-1")
	})
	It("GET is served", AllowsBy("KA-METHOD-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		expectClaim(ctx, kubelet(ctx), caller(ctx, everything), get("/healthz"))
	})
	It("GET is served over HTTP/2", AllowsBy("KA-METHOD-1", "KA-HEALTH-1"), func(ctx SpecContext) {
		expectOverHTTP2(ctx, http.MethodGet, http.StatusOK, "")
	})
})

// expectOverHTTP2 requests /healthz over HTTP/2. It expects a status and, if a rule is named, its
// ID at the end of the text.
func expectOverHTTP2(ctx context.Context, method string, code int, rule rules.ID) {
	GinkgoHelper()
	port := kubelet(ctx)
	transport := &http.Transport{TLSClientConfig: port.TLS(caller(ctx, everything)), ForceAttemptHTTP2: true}
	DeferCleanup(transport.CloseIdleConnections)
	call := must(http.NewRequestWithContext(ctx, method, "https://"+port.Address+"/healthz", http.NoBody))
	answer := must(transport.RoundTrip(call))
	DeferCleanup(answer.Body.Close)
	Expect(answer.ProtoMajor).To(Equal(2))
	Expect(answer.StatusCode).To(Equal(code))
	if rule != "" {
		Expect(textOf(answer.Body)).To(HaveSuffix("[" + string(rule) + "]"))
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// standIn is the address of e2e/standin, which replaces the kubelet. Each process of a run has one
// at a time.
func standIn() string { return fmt.Sprintf("127.0.0.1:%d", 20900+GinkgoParallelProcess()) }

// expectRecovery is what the stand-in reports about a request.
type expectRecovery struct {
	Method, Target, Body, Certificate string
	Header                            http.Header
}

// behindProxy starts a stand-in and a second proxy in front of it.
func behindProxy(ctx context.Context) *Port {
	GinkgoHelper()
	pod := suite.Env().RunProgram(ctx, target(), "../standin", "-listen="+standIn())
	port := startSideProxy(ctx, SideProxy{Flags: []string{"--kubelet-address=" + standIn()}})
	Eventually(ctx, func() error {
		_, err := suite.Host.Run(ctx, target(), "curl -sSk --fail --max-time 5 https://"+standIn()+"/")
		return err
	}).WithTimeout(PodStart).WithPolling(200*time.Millisecond).Should(Succeed(), "pod %s listens", pod.Name)
	return port
}

// expectReached makes a call that must reach the stand-in, and returns the request that arrived.
func expectReached(ctx context.Context, port *Port, who Caller, call Call) expectRecovery {
	GinkgoHelper()
	reply := send(ctx, port, who, call)
	Expect(reply.Code).To(Equal(http.StatusOK), reply.String())
	var what expectRecovery
	Expect(json.Unmarshal([]byte(reply.Body), &what)).To(Succeed(), reply.Body)
	return what
}

// The second proxy has a stand-in for the kubelet, which reports the requests that arrive.
var _ = Describe("a forwarded request", Ordered, ContinueOnFailure, Label(OnHost, OnHardened), func() {
	var port *Port

	BeforeAll(func(ctx SpecContext) { port = behindProxy(ctx) })

	It("has the caller's method, path, query, headers and body", Allows("KA-HEADER-1"), func(ctx SpecContext) {
		what := expectReached(ctx, port, caller(ctx, may("create", "run")),
			Calling(http.MethodPost, "/run/a/b%20c/d?cmd=e%2Ff&x=%00").With("Accept: text/e2e", "X-E2E: kept",
				"User-Agent: e2e").Sending("some words"))
		Expect(what.Method).To(Equal(http.MethodPost))
		Expect(what.Target).To(Equal("/run/a/b%20c/d?cmd=e%2Ff&x=%00"))
		Expect(what.Body).To(Equal("some words"))
		Expect(what.Certificate).To(Equal("bulkhead:kubelet-auth-proxy"), "the kubelet accepts one caller")
		Expect(what.Header).To(
			And(HaveKeyWithValue("Accept", []string{"text/e2e"}), HaveKeyWithValue("X-E2e", []string{"kept"}),
				HaveKeyWithValue("User-Agent", []string{"e2e"})))
	})

	DescribeTable("has no header of the caller about identity:", Denies("KA-HEADER-1"), Attack("T24"),
		func(ctx SpecContext, names ...string) {
			call := health.With("X-E2E: kept")
			for _, name := range names {
				call = call.With(name + ": system:admin")
			}
			what := expectReached(ctx, port, caller(ctx, healthy), call)
			Expect(what.Header).To(HaveKey("X-E2e"))
			for _, name := range names {
				Expect(what.Header).NotTo(HaveKey(http.CanonicalHeaderKey(name)))
			}
		},
		Entry("impersonation", "Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-Scopes"),
		Entry("request headers", "X-Remote-User", "X-Remote-Group", "X-Remote-Extra-Scopes", "x-remote-uid"),
		Entry("forwarding headers", "X-Forwarded-For", "X-Forwarded-User", "X-Forwarded-Client-Cert", "Forwarded",
			"X-Real-Ip"),
		Entry("other credentials", "Cookie", "Proxy-Authorization"),
		Entry("hop-by-hop headers", "Keep-Alive", "Te", "Trailer", "Proxy-Connection"),
	)

	It("has no header that the caller names in Connection", Denies("KA-HEADER-1"), Attack("T24"), func(ctx SpecContext) {
		what := expectReached(ctx, port, caller(ctx, healthy), health.With("Connection: X-E2E, keep-alive", "X-E2E: dropped"))
		Expect(what.Header).NotTo(HaveKey("X-E2e"))
	})

	It("has no token", Denies("KA-HEADER-1"), func(ctx SpecContext) {
		what := expectReached(ctx, port, bearer(ctx, "", healthy), health)
		Expect(what.Header).NotTo(HaveKey("Authorization"))
	})

	It("from inside a pod: has no token of the pod, but has the other headers", Denies("KA-HEADER-1"),
		func(ctx SpecContext) {
			pod := newInsider(ctx, healthy)
			what := expectReached(ctx, pod.to(port), pod.own, health.With("X-E2E: kept", "X-Remote-User: system:admin"))
			Expect(what.Header).To(HaveKeyWithValue("X-E2e", []string{"kept"}))
			Expect(what.Header).NotTo(Or(HaveKey("Authorization"), HaveKey("X-Remote-User")))
		})

	It("has no token beside a certificate either", Denies("KA-HEADER-1"), func(ctx SpecContext) {
		who := caller(ctx, healthy)
		who.Token = "not-a-token"
		Expect(expectReached(ctx, port, who, health).Header).NotTo(HaveKey("Authorization"))
	})

	It("has no token in a sub-protocol, but has the other sub-protocols", Denies("KA-HEADER-1"), func(ctx SpecContext) {
		who := bearer(ctx, "", may("create", "exec"))
		what := expectReached(ctx, port, Anonymous(), bySubprotocol(get(processes[0].path), who.Token))
		Expect(what.Header).To(HaveKeyWithValue("Sec-Websocket-Protocol", []string{"v5.channel.k8s.io"}))
		Expect(what.Header).To(HaveKeyWithValue("Upgrade", []string{"websocket"}))
	})

	It("has no body of a GET", Denies("KA-LIMIT-1"), func(ctx SpecContext) {
		reply := send(ctx, port, caller(ctx, healthy), health.Sending("GET /exec HTTP/1.1"))
		suite.ExpectDenied(ctx, reply, http.StatusBadRequest, "KA-LIMIT-1")
	})

	// T12: an attacker on the node makes its kubelet redirect a client, which follows with its
	// credentials. In CVE-2020-8559 the client was kube-apiserver.
	DescribeTable("does not return a redirect", Denies("KA-REDIRECT-1"), Attack("T12"),
		func(ctx SpecContext, call Call) {
			all := may("*", "exec", "log", "proxy")
			reply := send(ctx, port, caller(ctx, all), call)
			Expect(reply.Code).To(Equal(http.StatusBadGateway), reply.String())
			Expect(reply.Body).To(HaveSuffix("[KA-REDIRECT-1]\n"))
			Expect(reply.Header).NotTo(HaveKey("Location"))
		},
		Entry("of an upgrade to another node",
			get("/exec"+noContainer+"?status=302&location=https://192.0.2.1:10250/exec"+noContainer).Upgrading()),
		Entry("of an upgrade within the node", get("/exec"+noContainer+"?status=307&location=/run"+noContainer).Upgrading()),
		Entry("of an ordinary request to another host", get("/logs/?status=301&location=https://192.0.2.1/")),
		Entry("to another host in short", get("/logs/?status=302&location=//192.0.2.1/")),
		Entry("to another host as browsers read it", get("/logs/?status=308&location=/%5c192.0.2.1/")),
		Entry("without a location", get("/logs/?status=303")),
	)

	It("returns other answers unchanged", Allows("KA-REDIRECT-1"), Attack("T12"), func(ctx SpecContext) {
		what := expectReached(ctx, port, caller(ctx, may("create", "exec")),
			get("/exec"+noContainer+"?status=200&location=https://192.0.2.1:10250/").Upgrading())
		Expect(what.Target).To(ContainSubstring("status=200"))
	})

	It("returns the redirect of a log directory to its trailing slash", Allows("KA-REDIRECT-1"), func(ctx SpecContext) {
		reply := send(ctx, port, caller(ctx, may("get", "log")), get("/logs/pods?status=301&location=pods/"))
		Expect(reply.Code).To(Equal(http.StatusMovedPermanently), reply.String())
		Expect(reply.Header.Get("Location")).To(Equal("pods/"))
	})
})

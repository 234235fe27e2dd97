// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// insidePaths has one request for each rule of a path, and the status of the kubelet's answer.
// scrape_test.go sends requests for metrics and statistics from inside a pod.
var insidePaths = []struct {
	what string
	rule rules.ID
	call Call
	code int
}{
	{"GET /pods", "KA-POD-1", get("/pods"), http.StatusOK},
	{"GET /healthz", "KA-HEALTH-1", health, http.StatusOK},
	{"GET /configz", "KA-CONFIG-1", get("/configz"), http.StatusOK},
	{"GET /statusz", "KA-STATUS-1", get("/statusz").With("Accept: text/plain"), http.StatusOK},
	{"GET /logs/", "KA-LOG-1", get("/logs/"), http.StatusOK},
	{"POST /checkpoint/", "KA-CHECKPOINT-1", Calling(http.MethodPost, "/checkpoint"+noContainer), http.StatusNotFound},
	{"exec by WebSocket", "KA-EXEC-1", get(processes[0].path).Upgrading(), http.StatusNotFound},
	{"attach by WebSocket", "KA-ATTACH-1", get(processes[1].path).Upgrading(), http.StatusNotFound},
	{"port-forward by WebSocket", "KA-PORT-1", get(processes[2].path).Upgrading(), http.StatusNotFound},
	{"POST /run/", "KA-RUN-1", Calling(http.MethodPost, processes[3].path), http.StatusNotFound},
	{"GET /containerLogs/", "KA-CLOG-1", get("/containerLogs" + noContainer), http.StatusNotFound},
	{"GET /debug/pprof/cmdline", "KA-DEBUG-1", get("/debug/pprof/cmdline"), http.StatusOK},
	{"/metrics by WebSocket", "KA-UPGRADE-1", get("/metrics").Upgrading(), http.StatusOK},
	{"GET of an unknown path", "KA-UNKNOWN-1", get("/e2e-nothing"), http.StatusNotFound},
}

// A DaemonSet's pod calls the kubelet of its node. Each request leaves from inside a pod, with the token
// of that pod.
var _ = Describe("from inside a pod:", Ordered, ContinueOnFailure, Label(OnHardened), func() {
	var (
		// granted has the rights for all requests of these specs. bare has none.
		granted, bare insider
		// audience is a proxy that enforces KA-AUD-1. compat is a proxy in compat mode.
		audience, compat *Port
	)

	BeforeAll(func(ctx SpecContext) {
		granted = newInsider(ctx, slices.Concat(
			may("get", "pods", "healthz", "configz", "statusz", "log", "containerlogs", "debug", "proxy"),
			may("create", "checkpoint", "exec", "attach", "portforward", "run", "metrics", "unknown")))
		bare = newInsider(ctx, nil)
		audience = startSideProxy(ctx, SideProxy{Flags: []string{"--rule-mode=KA-AUD-1=enforce"}})
		compat = startSideProxy(ctx, SideProxy{Flags: []string{"--mode=compat"}})
	})

	for _, p := range insidePaths {
		It(p.what+", with the right: allowed", Allows(p.rule), func(ctx SpecContext) {
			expectClaim(ctx, granted.to(kubelet(ctx)), granted.own, p.call, p.code)
		})
		It(p.what+", without a right: denied", Denies(p.rule), func(ctx SpecContext) {
			expectClaim(ctx, bare.to(kubelet(ctx)), bare.own, p.call)
		})
	}

	It("logs of containers in compat mode, with nodes/proxy: allowed", Allows("KA-PROXY-1"), func(ctx SpecContext) {
		expectClaim(ctx, granted.to(compat), granted.own, get("/containerLogs"+noContainer), http.StatusNotFound)
	})

	It("logs of containers in compat mode, without a right: denied", Denies("KA-PROXY-1"), func(ctx SpecContext) {
		expectClaim(ctx, bare.to(compat), bare.own, get("/containerLogs"+noContainer))
	})

	// Each denied request differs from an allowed request in its path, method or body only.
	DescribeTable("a request of a pod with the right:",
		func(ctx SpecContext, call Call, code int) {
			expectClaim(ctx, granted.to(kubelet(ctx)), granted.own, call, code)
		},
		Entry("path with one slash: allowed", AllowsBy("KA-PATH-1", "KA-HEALTH-1"), health, http.StatusOK),
		Entry("path with an empty segment: denied", Denies("KA-PATH-1"), get("//healthz"), http.StatusBadRequest),
		Entry("method GET: allowed", AllowsBy("KA-METHOD-1", "KA-HEALTH-1"), health, http.StatusOK),
		Entry("method TRACE: denied", Denies("KA-METHOD-1"), Calling(http.MethodTrace, "/healthz"),
			http.StatusMethodNotAllowed),
		Entry("GET without a body: allowed", AllowsBy("KA-LIMIT-1", "KA-HEALTH-1"), health, http.StatusOK),
		Entry("GET with a body: denied", Denies("KA-LIMIT-1"), health.Sending("x"), http.StatusBadRequest),
	)

	DescribeTable("GET /healthz of a pod with the right:",
		func(ctx SpecContext, port func(SpecContext) *Port, who func() Caller, code int) {
			expectClaim(ctx, granted.to(port(ctx)), who(), health, code)
		},
		Entry("with the pod's token: allowed", AllowsBy("KA-AUTH-1", "KA-HEALTH-1"), Allows("KA-ANON-1"),
			func(ctx SpecContext) *Port { return kubelet(ctx) }, func() Caller { return granted.own }, http.StatusOK),
		Entry("with the pod's token without its end: rejected", Denies("KA-AUTH-1"),
			func(ctx SpecContext) *Port { return kubelet(ctx) }, func() Caller {
				who := granted.own
				who.Token = who.Token[:len(who.Token)-10]
				return who
			}, http.StatusUnauthorized),
		Entry("without a token: rejected", DeniesBy("KA-ANON-1", "KA-AUTH-1"),
			func(ctx SpecContext) *Port { return kubelet(ctx) }, Anonymous, http.StatusUnauthorized),
		Entry("with the pod's token for kubelets, where the audience is enforced: allowed",
			AllowsBy("KA-AUD-1", "KA-HEALTH-1"),
			func(SpecContext) *Port { return audience }, func() Caller { return granted.forKubelets }, http.StatusOK),
		Entry("with the pod's token for the API server, where the audience is enforced: rejected", Denies("KA-AUD-1"),
			func(SpecContext) *Port { return audience }, func() Caller { return granted.own }, http.StatusUnauthorized),
	)

	It("GET /healthz at a proxy whose audit log is full: denied", Denies("KA-AUDIT-1"), func(ctx SpecContext) {
		port := startSideProxy(ctx, SideProxy{Flags: []string{full}})
		reply := send(ctx, granted.to(port), granted.own, health)
		Expect(reply.Code).To(Equal(http.StatusServiceUnavailable), reply.String())
		Expect(reply.Body).To(HaveSuffix("[KA-AUDIT-1]\n"))
	})

	It("GET /healthz at a proxy that can write its audit log: allowed", AllowsBy("KA-AUDIT-1", "KA-HEALTH-1"),
		func(ctx SpecContext) { expectClaim(ctx, granted.to(kubelet(ctx)), granted.own, health) })

	// The account of this proxy may create TokenReviews, but no SubjectAccessReviews.
	It("GET /healthz at a proxy that gets no decision: denied", Denies("KA-DECISION-1"), func(ctx SpecContext) {
		its := fixtures.ServiceAccount(systemNamespace, suite.Env().NewName("e2e-proxy"))
		suite.Env().Put(ctx, its)
		suite.Env().Grant(ctx, Account(its.Namespace, its.Name, "").User, rbacv1.PolicyRule{
			Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"},
		})
		port := startSideProxy(ctx, SideProxy{Account: its.Name})
		expectClaim(ctx, granted.to(port), granted.own, health, http.StatusInternalServerError)
	})

	It("GET /healthz at a proxy that gets a decision: allowed", AllowsBy("KA-DECISION-1", "KA-HEALTH-1"),
		func(ctx SpecContext) { expectClaim(ctx, granted.to(kubelet(ctx)), granted.own, health) })

	// The same spec requests a certificate as the node, which is approved.
	It("request for a serving certificate of a node: not approved", Denies("KA-CSR-1"), func(ctx SpecContext) {
		addressed(ctx)
		suite.Env().Grant(ctx, granted.own.User, rbacv1.PolicyRule{
			Verbs: []string{"create"}, APIGroups: []string{"certificates.k8s.io"},
			Resources: []string{"certificatesigningrequests"},
		})
		expectLeft(ctx, granted.identity(ctx), asKubeletsAsk())
	})
})

// The second proxy rechecks a stream every second. The stream is the log of the pod that follows it.
var _ = Describe("from inside a pod: a followed log", Ordered, ContinueOnFailure, Label(OnHardened), func() {
	var (
		port *Port
		pod  insider
		role *rbacv1.ClusterRole
		logs Call
	)

	BeforeAll(func(ctx SpecContext) {
		port = startSideProxy(ctx, SideProxy{Flags: []string{
			"--stream-recheck-interval=1s", "--authorization-webhook-cache-authorized-ttl=0s",
			"--authentication-token-webhook-cache-ttl=0s",
		}})
		pod = newInsider(ctx, nil)
		role = &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: suite.Env().NewName("e2e-revocable")}, Rules: may("get", "containerlogs"),
		}
		suite.Env().Put(ctx, role)
		suite.Env().Bind(ctx, pod.own.User, role.Name)
		logs = get("/containerLogs/" + pod.pod.Namespace + "/" + pod.pod.Name + "/" + shell + "?follow=true")
	})

	It("with the right: continues", Allows("KA-STREAM-1"), func(ctx SpecContext) {
		followed := follow(ctx, pod.to(port), pod.own, logs)
		// The proxy rechecks the stream at least twice in this time.
		for until := time.Now().Add(3 * time.Second); time.Now().Before(until); {
			followed.expectLine()
		}
	})

	It("whose right is removed: ends", Denies("KA-STREAM-1"), func(ctx SpecContext) {
		followed := follow(ctx, pod.to(port), pod.own, logs)
		followed.expectLine()
		suite.Env().Remove(ctx, role)
		followed.expectEnd()
		followed.expectCause(ctx, "the user no longer has access")
	})
})

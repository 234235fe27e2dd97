// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// proxyFiles is the directory with the files that the proxy needs to serve. asideFiles is its path
	// while the proxy must not serve.
	proxyFiles = StateDirectory + "/kubelet-auth-proxy"
	asideFiles = "/etc/kubernetes/e2e-kubelet-auth-proxy"
	// heartbeatTimeout bounds two heartbeats of a node. A heartbeat is every ten seconds.
	heartbeatTimeout = time.Minute
)

var _ = Describe("while the worker's proxy is stopped,", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
		var (
			streams    *kubectlStreams
			containers []string
			began      time.Time
		)

		BeforeAll(func(ctx SpecContext) {
			streams = startStreams(ctx)
			containers = containerIDs(ctx, streams.pod)
			DeferCleanup(bringProxyBack)
			began = time.Now()
			onWorker(ctx, "mv "+proxyFiles+" "+asideFiles)
			deleteProxy(ctx)
			streams.expectCut(ctx, "the end of the proxy's pod")
			eventuallyOnWorker(ctx, kubeletRestartTimeout, proxyIdle)
		})

		// Without its files, the new proxy is idle, but this node is guarded: the kubelet listens on
		// loopback.
		It("the idle proxy is not ready", Denies("KA-LOOPBACK-1"), func(ctx SpecContext) {
			Expect(onWorker(ctx, "curl --silent http://127.0.0.1:10466/readyz")).To(
				ContainSubstring("the kubelet, which does not listen on an address of the node"))
			Expect(isReady(must(proxyOf(ctx, suite.Worker)))).To(BeFalse())
		})

		It("the kubelet of this node is not reachable", Denies("KA-LOOPBACK-1"), func(ctx SpecContext) {
			streams.expectUnreachable(ctx)
			_, err := portOf(ctx, suite.Worker).Dial(ctx, Anonymous())
			Expect(err).To(MatchError(syscall.ECONNREFUSED), "no process listens on the port")
		})

		// The port is free, and any pod on the host's network can open it. kube-apiserver has
		// --kubelet-certificate-authority: it verifies the certificate before it sends anything.
		It("a pod that takes the port gets no request of the API server", Denies("KA-CSR-1"), func(ctx SpecContext) {
			pod, port := squatter(ctx)
			// A client that does not verify proves that the pod prints what it receives.
			_, err := suite.Host.Run(ctx, suite.Worker,
				"curl -sk --max-time 10 -H 'Authorization: Bearer e2e-token' https://"+port.Address+"/e2e-unverified || true")
			Expect(err).NotTo(HaveOccurred())
			printed(ctx, pod, "GET /e2e-unverified")
			printed(ctx, pod, "Bearer e2e-token")
			for _, args := range [][]string{in(streams.pod, "logs", shell, "--tail=1"),
				in(streams.pod, "exec", shell, "--", "true")} {
				ended := command{}.run(ctx, args...)
				Expect(ended).NotTo(gexec.Exit(0), "kubectl %s was answered", args[0])
				Expect(stderrOf(ended)).To(ContainSubstring("x509: certificate signed by unknown authority"))
				Measured("kubectl "+args[0]+" while a pod has the port", strings.ReplaceAll(stderrOf(ended), "\n", " "))
			}
			var after string
			Eventually(ctx, func() int {
				_, after, _ = strings.Cut(must(gotBy(ctx, pod)()), "Bearer e2e-token")
				return strings.Count(after, "fatal bad_certificate")
			}).WithTimeout(outputTimeout).WithPolling(200*time.Millisecond).Should(BeNumerically(">=", 2),
				"both calls ended at the certificate")
			// The first pattern is a client certificate, the others are requests.
			Expect(after).NotTo(Or(MatchRegexp(`<<< TLS 1\.[23], Handshake \[length [0-9a-f]+\], Certificate`),
				ContainSubstring("HTTP/"), ContainSubstring("/containerLogs"), ContainSubstring("/exec")), after)
		})

		It("the kubelet of another node is reachable", Allows("KA-CLOG-1"), func(ctx SpecContext) {
			// Do not use a static pod: after a spec that restarted the API server, its mirror pod
			// may not exist yet.
			Expect(kubectl(ctx, "logs", "--namespace="+systemNamespace, must(proxyOf(ctx, suite.ControlPlane)).Name,
				"--tail=1")).NotTo(BeEmpty())
		})

		It("the node's pods keep running", Allows("KA-LOOPBACK-1"), func(ctx SpecContext) {
			lines := "cat /var/log/pods/" + streams.pod.Namespace + "_" + streams.pod.Name + "_*/" + shell + "/*.log | wc -l"
			before := onWorker(ctx, lines)
			Eventually(ctx, func() (string, error) { return suite.Host.Run(ctx, suite.Worker, lines) }).
				WithTimeout(outputTimeout).WithPolling(time.Second).ShouldNot(Equal(before), "the pod writes to its log")
			Expect(containerIDs(ctx, streams.pod)).To(Equal(containers))
		})

		It("a new pod starts", Allows("KA-LOOPBACK-1"), func(ctx SpecContext) {
			since := time.Now()
			running(ctx, suite.Env().Pod(ctx, suite.Worker))
			Measured("a pod that starts without the proxy", time.Since(since).Round(100*time.Millisecond).String())
		})

		It("the node stays Ready", Allows("KA-LOOPBACK-1"), func(ctx SpecContext) {
			for range 2 {
				last := must(heartbeat(ctx))
				Eventually(ctx, heartbeat).WithTimeout(heartbeatTimeout).WithPolling(time.Second).ShouldNot(Equal(last),
					"the node renews its lease")
			}
			expectNodeReady(ctx)
			Measured("the proxy was away for", time.Since(began).Round(time.Second).String())
		})

		It("logs and exec work again after the proxy's restart", Allows("KA-CLOG-1"), Allows("KA-EXEC-1"),
			func(ctx SpecContext) {
				Expect(isReady(must(proxyOf(ctx, suite.Worker)))).To(BeFalse(), "the proxy did not serve until now")
				since := time.Now()
				bringProxyBack(ctx)
				streams.expectRecovery(ctx, "the return of the proxy", since)
				Expect(containerIDs(ctx, streams.pod)).To(Equal(containers))
			})
	})

// deleteProxy deletes the pod of the worker's proxy. The DaemonSet creates another one.
func deleteProxy(ctx context.Context) {
	GinkgoHelper()
	proxy := must(proxyOf(ctx, suite.Worker))
	Expect(suite.Client.CoreV1().Pods(proxy.Namespace).Delete(ctx, proxy.Name, metav1.DeleteOptions{})).To(Succeed())
}

// bringProxyBack lets the proxy serve again. It is idempotent. The pod has mounted the directory that
// the kubelet created, so it is recreated.
func bringProxyBack(ctx context.Context) {
	GinkgoHelper()
	if onWorker(ctx, "test ! -e "+asideFiles+" || { rm -rf "+proxyFiles+" && mv "+asideFiles+" "+proxyFiles+
		" && echo moved; }") != "" {
		Eventually(ctx, proxyOf).WithArguments(suite.Worker).WithTimeout(kubeletRestartTimeout).ShouldNot(BeNil())
		deleteProxy(ctx)
	}
	eventuallyOnWorker(ctx, kubeletRestartTimeout, proxyReady)
}

// heartbeat returns when the worker's kubelet last renewed its lease.
func heartbeat(ctx context.Context) (time.Time, error) {
	lease, err := suite.Client.CoordinationV1().Leases(fixtures.LeaseNamespace).Get(ctx, suite.Worker, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	return ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time, nil
}

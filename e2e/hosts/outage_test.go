// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	auditLog = "/var/log/kubernetes/audit/audit.log"
	// shortestToken is the shortest lifetime of a token. A kubelet renews it after 80 % of the time.
	shortestToken = 10 * time.Minute
	// outageLabel is a label that no allowlist has.
	outageLabel = "example.com/outage"
)

// A component is dead on the host whose API server the worker's kubelet uses. This host stays behind the
// load balancer: with failure policy Ignore, Kubernetes' own Node authorizer and NodeRestriction decide
// there (docs/operations.md). The specs run in order.
var _ = Describe("while a component is dead on one of three hosts", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, Slow, long), func() {
		var (
			broken  *corev1.Node
			others  []*corev1.Node
			clients *probers
		)

		BeforeAll(func(ctx SpecContext) {
			hosts := findControlPlanes(ctx)
			expectNotInstalled(ctx, hosts)
			DeferCleanup(func(ctx context.Context) {
				for _, host := range hosts {
					onHost(ctx, host.Name, "bulkhead uninstall 2>&1")
				}
				expectNotInstalled(ctx, hosts)
			})
			for _, host := range hosts {
				onHost(ctx, host.Name, "bulkhead install --profile=hardened --kubelet-api=false "+
					"--node-restriction-failure-policy=Ignore --image="+componentImage(ctx, host.Name)+" 2>&1")
			}
			name := hostOfKubelet(ctx, hosts)
			for i := range hosts {
				if hosts[i].Name == name {
					broken = &hosts[i]
				} else {
					others = append(others, &hosts[i])
				}
			}
			clients = startProbers(ctx)
			DeferCleanup(clients.end)
		})

		It("the in-tree authorizer decides there instead of node-authorizer", Denies("NA-NODE-1"),
			func(ctx SpecContext) {
				removeComponent(ctx, broken.Name, ComponentManifest, "pgrep -x node-authorizer")
				node := suite.AsNode(suite.Worker).At(address(broken))
				for range 20 {
					expectAnswer(ctx, node, Get(api.Nodes).Named(suite.Worker), 200, "")
					// No authorizer allows it. kube-apiserver answers 500, because one could not be asked.
					expectAnswer(ctx, node, Get(api.Nodes).Named(broken.Name), 500, "https://127.0.0.1:10461/authorize")
					for _, host := range others {
						expectDecides(ctx, host)
					}
				}
				restoreComponent(ctx, broken.Name, ComponentManifest, ComponentReady)
				expectDecides(ctx, broken)
			})

		It("the in-tree plugin checks writes there instead of node-restriction", Denies("NR-LABEL-2"),
			func(ctx SpecContext) {
				removeComponent(ctx, broken.Name, RestrictionManifest, RestrictionProcess)
				DeferCleanup(func(ctx context.Context) {
					_, err := suite.Client.CoreV1().Nodes().Patch(ctx, suite.Worker, types.MergePatchType,
						fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, outageLabel), metav1.PatchOptions{})
					Expect(err).NotTo(HaveOccurred())
				})
				for _, host := range others {
					node := suite.AsNode(suite.Worker).At(address(host))
					expectAnswer(ctx, node, labelling(suite.Worker, outageLabel), 403, "[NR-LABEL-2]")
				}
				node := suite.AsNode(suite.Worker).At(address(broken))
				expectAnswer(ctx, node, labelling(broken.Name, outageLabel), 403, "is not allowed to modify node")
				expectAnswer(ctx, node, labelling(suite.Worker, outageLabel), 200, "")
				restoreComponent(ctx, broken.Name, RestrictionManifest, RestrictionReady)
			})

		It("pods keep their tokens, though their kubelet uses this host", PollProgressAfter(shortestToken),
			AllowsBy("NR-SA-1", Behind), func(ctx SpecContext) {
				removeComponent(ctx, broken.Name, RestrictionManifest, RestrictionProcess)
				pod := suite.Env().Pod(ctx, suite.Worker, fixtures.WithToken(), func(pod *corev1.Pod) {
					source := pod.Spec.Volumes[0].Projected.Sources[0].ServiceAccountToken
					source.ExpirationSeconds = ptr.To(int64(shortestToken.Seconds()))
				})
				first := ""
				Eventually(ctx, func() (err error) {
					first, err = tokenOfPod(ctx, pod)
					return err
				}).WithTimeout(2 * PodStart).WithPolling(time.Second).Should(Succeed())
				begun := time.Now()
				Eventually(ctx, func(g Gomega) string {
					token, err := tokenOfPod(ctx, pod)
					g.Expect(err).NotTo(HaveOccurred())
					if _, err := suite.ReadToken(ctx, token); err != nil {
						StopTrying("the pod has no valid token").Wrap(err).Now()
					}
					return token
				}).WithTimeout(shortestToken).WithPolling(5*time.Second).ShouldNot(Equal(first), "the token was renewed")
				Measured("token of a pod: renewed after", time.Since(begun).Round(time.Second).String())
				Expect(onHost(ctx, broken.Name, fmt.Sprintf("grep '\"username\":\"system:node:%s\"' %s | grep %q | "+
					"grep -c failed-open.validating.webhook || true", suite.Worker, auditLog,
					"/namespaces/"+pod.Namespace+"/serviceaccounts/"+pod.Spec.ServiceAccountName+"/token"))).
					NotTo(Equal("0"), "the kubelet's requests for tokens passed on this host without node-restriction")
				restoreComponent(ctx, broken.Name, RestrictionManifest, RestrictionReady)
				node := suite.AsNode(suite.Worker).At(address(broken))
				expectAnswer(ctx, node, labelling(suite.Worker, outageLabel), 403, "[NR-LABEL-2]")
			})

		It("had no failed call through the load balancer", func(SpecContext) {
			clients.stop()
			clients.running.Wait()
			clients.expectNoFailure()
		})
	})

// hostOfKubelet returns the host whose API server gets the requests of the worker's kubelet: the last
// update of its lease is there.
func hostOfKubelet(ctx context.Context, hosts []corev1.Node) (name string) {
	GinkgoHelper()
	// The kubelet may have moved when the last API server restarted. It updates its lease every 10 s.
	time.Sleep(30 * time.Second)
	newest := ""
	for _, host := range hosts {
		last := onHost(ctx, host.Name, fmt.Sprintf(`grep '"username":"system:node:%s"' %s | grep '"userAgent":"kubelet/' | `+
			`grep '"resource":"leases"' | grep -o '"stageTimestamp":"[^"]*"' | tail -n 1`, suite.Worker, auditLog))
		if last > newest {
			newest, name = last, host.Name
		}
	}
	Expect(name).NotTo(BeEmpty(), "an audit log with the kubelet's leases")
	return name
}

// aside is the path of a manifest while the component must not run.
func aside(manifest string) string { return "/etc/kubernetes/e2e-" + path.Base(manifest) }

// removeComponent ends a static pod of the host at once, until restoreComponent or the end of the spec.
func removeComponent(ctx context.Context, host, manifest, process string) {
	GinkgoHelper()
	away := aside(manifest)
	DeferCleanup(func(ctx context.Context) {
		onHost(ctx, host, fmt.Sprintf("test ! -e %[2]s || mv %[2]s %[1]s", manifest, away))
	})
	onHost(ctx, host, fmt.Sprintf("mv %s %s && kill -9 $(%s)", manifest, away, process))
	Eventually(ctx, func() (string, error) {
		return suite.Host.Run(ctx, host, process+" || echo dead")
	}).WithTimeout(time.Minute).WithPolling(time.Second).Should(HavePrefix("dead"))
}

// restoreComponent starts the static pod again, and waits until it is ready.
func restoreComponent(ctx context.Context, host, manifest, ready string) {
	GinkgoHelper()
	onHost(ctx, host, "mv "+aside(manifest)+" "+manifest)
	Eventually(ctx, func() error {
		_, err := suite.Host.Run(ctx, host, ready)
		return err
	}).WithTimeout(ServerSwitch).WithPolling(time.Second).Should(Succeed())
}

// labelling sets a label of a Node, as a dry run.
func labelling(node, label string) Request {
	return Patch(api.Nodes).Named(node).With(map[string]any{"metadata": map[string]any{
		"labels": map[string]any{label: "x"}}})
}

// expectAnswer makes the request, and checks the status and the text of the answer.
func expectAnswer(ctx context.Context, who *Identity, request Request, code int, text string) {
	GinkgoHelper()
	got, message, err := who.Send(ctx, request)
	Expect(err).NotTo(HaveOccurred())
	Expect(got).To(Equal(code), message)
	Expect(message).To(ContainSubstring(text))
}

// tokenOfPod reads the token in the pod's volume from the worker's disk.
func tokenOfPod(ctx context.Context, pod *corev1.Pod) (string, error) {
	out, err := suite.Host.Run(ctx, suite.Worker,
		"cat /var/lib/kubelet/pods/"+string(pod.UID)+"/volumes/kubernetes.io~projected/token/token")
	return strings.TrimSpace(out), err
}

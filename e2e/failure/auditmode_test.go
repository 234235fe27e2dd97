// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// beforeAudit and afterAudit are the Installations before and after the specs of audit mode.
	beforeAudit = "/run/bulkhead-before-audit.yaml"
	afterAudit  = "/run/bulkhead-after-audit.yaml"
	// foreignRange is outside the podCIDRs of all nodes.
	foreignRange = "10.99.77.0/24"
	nodePool     = "karpenter.sh/nodepool"
	startupTaint = "karpenter.sh/unregistered"
)

// The specs follow an operator: install in audit, run for a while, read the findings, install with the
// settings that bulkhead audit prints. What worked must always work. They run in order.
var _ = Describe("audit mode", Serial, Ordered, Label(Disruptive, OnHost, OnWorker, OnHardened, Slow), func() {
	var (
		machine *NewMachine
		agent   Bearer
		stale   string
		started time.Time
	)

	BeforeAll(func(ctx SpecContext) {
		TakeMachine(ctx)
		installed, err := suite.ReadInstallation(ctx)
		Expect(err).NotTo(HaveOccurred())
		if installed.Profile != Hardened {
			Skip("only the profile hardened has audit mode")
		}
		suite.OnControlPlane(ctx, "bulkhead status -o yaml >"+beforeAudit)
		DeferCleanup(func(ctx context.Context) {
			// The counter of old tokens stays until kube-apiserver restarts, which this installation does.
			suite.OnControlPlane(ctx, "bulkhead install --ignore-preflight-errors=labels-and-taints-of-nodes,IPs-of-pods,"+
				"clients-with-old-tokens --config="+beforeAudit)
			_, err := suite.Host.Run(ctx, suite.Worker, "bulkhead node install --loopback-clients=deny")
			Expect(err).NotTo(HaveOccurred())
		})
		started = time.Now()
		suite.OnControlPlane(ctx, "bulkhead install --config="+beforeAudit+" --mode=audit")
		_, err = suite.Host.Run(ctx, suite.Worker, "bulkhead node install --loopback-clients=allow")
		Expect(err).NotTo(HaveOccurred())
		machine = joinLikeKarpenter(ctx)
		agent = logAgent(ctx)
		stale = staleToken(ctx, agent)
	})

	It("lets a node register with labels and taints of its own", Allows("NR-LABEL-1"), Allows("NR-TAINT-1"),
		func(ctx SpecContext) { expectKarpenters(ctx, machine) })

	It("lets a pod have an IP outside the podCIDRs", Allows("NR-PODIP-1"), func(ctx SpecContext) {
		expectForeignPod(ctx, machine)
	})

	It("lets a client on the node read the kubelet's API at 127.0.0.1", Allows("KA-LOOPBACK-1"),
		func(ctx SpecContext) { expectLoopback(ctx, agent, "200") })

	It("lets a client use a token that it should have read again", Allows("NR-SA-1"), func(ctx SpecContext) {
		expectStaleTokenWorks(ctx, stale)
	})

	It("reports each of them", Allows("NR-LABEL-1"), func(ctx SpecContext) {
		// kube-apiserver has restarted. For a while, kubelet-auth-proxy cannot ask it for logs.
		suite.EventuallyOnControlPlane(ctx, 2*time.Minute, "bulkhead audit")
		report := suite.OnControlPlane(ctx, "bulkhead audit && bulkhead audit --audit-log="+auditLogSince(ctx, started))
		for _, want := range []string{"NR-LABEL-1", nodePool, "NR-TAINT-1", startupTaint, "NR-PODIP-1",
			"system:node:" + machine.Name, "extendExpiration"} {
			Expect(report).To(ContainSubstring(want))
		}
		preflight := suite.OnControlPlane(ctx, "bulkhead preflight --config="+beforeAudit+" --mode=audit")
		Expect(preflight).To(And(ContainSubstring("clients of 127.0.0.1:10250"), ContainSubstring("WARN  IPs of pods"),
			ContainSubstring("WARN  clients with old tokens"), ContainSubstring("--loopback-clients=allow")))
	})

	It("refuses to enforce what would stop, until it is allowed", Denies("NR-PODIP-1"), func(ctx SpecContext) {
		out, err := suite.Host.Run(ctx, suite.ControlPlane, "bulkhead install --config="+beforeAudit)
		Expect(err).To(HaveOccurred(), out)
		for _, check := range []string{"labels and taints of nodes", "IPs of pods", "clients with old tokens"} {
			Expect(out).To(MatchRegexp("FAIL +" + check))
		}
		Expect(suite.OnControlPlane(ctx, "bulkhead status")).To(ContainSubstring("audit only"))
	})

	It("prints the settings with which mode enforce lets everything work", Allows("NR-LABEL-1"), Allows("NR-TAINT-1"),
		func(ctx SpecContext) {
			suite.OnControlPlane(ctx, "bulkhead audit --config="+beforeAudit+" -o installation >"+afterAudit+".1 && "+
				"bulkhead audit --config="+afterAudit+".1 --audit-log="+auditLogSince(ctx, started)+
				" -o installation >"+afterAudit)
			GinkgoWriter.Println(suite.OnControlPlane(ctx, "cat "+afterAudit))
			suite.OnControlPlane(ctx, "bulkhead install --config="+afterAudit)

			expectBulkhead(ctx)
			expectKarpenters(ctx, joinLikeKarpenter(ctx))
			expectForeignPod(ctx, machine)
			expectLoopback(ctx, agent, "200")
			expectStaleTokenWorks(ctx, stale)
		})

	It("enforces every other rule then", Denies("NR-LABEL-1"), func(ctx SpecContext) {
		suite.ExpectForbidden(ctx, suite.AsNode(suite.Env().Own), List(api.Deployments), "NA-DEFAULT")
		// The node pool is allowed, and no other label.
		_, err := machine.Host.Run(ctx, machine.Name, "kubectl --kubeconfig=/etc/kubernetes/kubelet.conf label node "+
			machine.Name+" example.com/other=x")
		Expect(err).To(MatchError(ContainSubstring("[NR-LABEL-2]")))
	})
})

// joinLikeKarpenter joins a machine whose kubelet has its own labels and taints, and whose pod network
// has its own addresses.
func joinLikeKarpenter(ctx context.Context) *NewMachine {
	GinkgoHelper()
	machine := suite.Env().NewMachine(ctx, MachineName())
	machine.Run(ctx, `sed -i 's#^KUBELET_EXTRA_ARGS=#&--node-labels=`+nodePool+`=x --register-with-taints=`+startupTaint+
		`=:NoExecute #' /etc/default/kubelet && grep -q `+startupTaint+` /etc/default/kubelet`)
	machine.Join(ctx, suite.Env().BootstrapToken(ctx))
	machine.UseRange(ctx, foreignRange)
	return machine
}

func expectKarpenters(ctx context.Context, machine *NewMachine) {
	GinkgoHelper()
	node, err := suite.Client.CoreV1().Nodes().Get(ctx, machine.Name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(node.Labels).To(HaveKeyWithValue(nodePool, "x"))
	Expect(node.Spec.Taints).To(ContainElement(HaveField("Key", startupTaint)))
}

// expectForeignPod starts a pod on the machine. Its kubelet reports an IP outside the podCIDR.
func expectForeignPod(ctx context.Context, machine *NewMachine) {
	GinkgoHelper()
	pod := suite.Env().Pod(ctx, machine.Name)
	Eventually(ctx, func() (string, error) {
		pod, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		return string(pod.Status.Phase) + " " + pod.Status.PodIP, err
	}).WithTimeout(PodStart).WithPolling(time.Second).Should(HavePrefix("Running 10.99.77."))
}

// logAgent starts a pod on the worker's network that names the kubelet's API at 127.0.0.1, and
// returns its account's token.
func logAgent(ctx context.Context) Bearer {
	GinkgoHelper()
	env := suite.Env()
	env.Pod(ctx, suite.Worker, func(pod *corev1.Pod) {
		pod.Spec.HostNetwork = true
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "KUBELET", Value: "https://127.0.0.1:10250/pods"}}
	})
	token := env.AccountToken(ctx)
	env.Grant(ctx, token.User, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""},
		Resources: []string{"nodes/pods", "nodes/proxy"}})
	return token
}

// expectLoopback reads the pods of the worker's kubelet at 127.0.0.1.
func expectLoopback(ctx context.Context, agent Bearer, code string) {
	GinkgoHelper()
	get := "curl -sk -o /dev/null --max-time 20 -w '%{http_code}' https://127.0.0.1:10250/pods"
	out, err := suite.Host.Run(ctx, suite.Worker, get+" -H 'Authorization: Bearer "+agent.Token+"'")
	Expect(err).NotTo(HaveOccurred())
	Expect(out).To(Equal(code))
	out, err = suite.Host.Run(ctx, suite.Worker, get)
	Expect(err).NotTo(HaveOccurred())
	Expect(out).To(Equal("401"), "without a token")
}

// staleToken returns the account's token as it was issued two hours ago, extended to a year.
func staleToken(ctx context.Context, account Bearer) string {
	GinkgoHelper()
	return suite.ReissueToken(ctx, account.Token, func(claims map[string]any) {
		issued := time.Now().Add(-2 * time.Hour)
		claims["iat"], claims["nbf"] = issued.Unix(), issued.Unix()
		claims["exp"] = issued.AddDate(1, 0, 0).Unix()
		kubernetes, ok := claims["kubernetes.io"].(map[string]any)
		Expect(ok).To(BeTrue(), fmt.Sprint(claims))
		kubernetes["warnafter"] = issued.Add(time.Hour).Unix()
	})
}

func expectStaleTokenWorks(ctx context.Context, token string) {
	GinkgoHelper()
	_, err := suite.ReadToken(ctx, token)
	Expect(err).NotTo(HaveOccurred())
}

// auditLogSince writes the part of the API server's audit log since a time to a file, and returns its
// path. The log of a long test run is large.
func auditLogSince(ctx context.Context, since time.Time) string {
	GinkgoHelper()
	const file = "/run/bulkhead-audit.log"
	suite.OnControlPlane(ctx, "cat /var/log/kubernetes/audit/audit*.log | grep -F stale-token | tail -n 1000 >"+file)
	return file
}

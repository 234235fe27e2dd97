// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/doctor"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
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
		// Both accounts have a node scope. kept gets the annotation that bulkhead audit prints.
		scoped, kept scopedAgent
		started      time.Time
		enforced     bool
	)

	// enforce installs with mode enforce and the settings that bulkhead audit prints, unless an earlier spec has.
	// So the specs about mode enforce can also run without the others.
	enforce := func(ctx context.Context) {
		GinkgoHelper()
		if enforced {
			return
		}
		suite.OnControlPlane(ctx, "bulkhead audit --config="+beforeAudit+" -o installation >"+afterAudit+".1 && "+
			"bulkhead audit --config="+afterAudit+".1 --audit-log="+auditLogSince(ctx, started)+
			" -o installation >"+afterAudit)
		GinkgoWriter.Println(suite.OnControlPlane(ctx, "cat "+afterAudit))
		allowMirrorPods(ctx)
		kept.keepInAudit(ctx)
		setSystemNode(ctx)
		suite.OnControlPlane(ctx, "bulkhead install --config="+afterAudit)
		enforced = true
	}

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
				"clients-with-old-tokens,mirror-pods-of-static-pods,clients-of-127.0.0.1:10250 --config="+beforeAudit)
			installWorker(ctx, "to its proxy only.")
		})
		bindSystemNode(ctx)
		started = time.Now()
		suite.OnControlPlane(ctx, "bulkhead install --config="+beforeAudit+" --mode=audit --audit-for=1m")
		installWorker(ctx, "deny -> allow, the value of the cluster")
		machine = joinLikeKarpenter(ctx)
		agent = logAgent(ctx)
		stale = staleToken(ctx, agent)
		scoped, kept = startScopedAgent(ctx, "scoped"), startScopedAgent(ctx, "kept")
	})

	It("lets a node register with labels and taints of its own", Allows("NR-LABEL-1"), Allows("NR-TAINT-1"),
		func(ctx SpecContext) { expectKarpenters(ctx, machine) })

	It("lets a pod have an IP outside the podCIDRs", Allows("NR-PODIP-1"), func(ctx SpecContext) {
		expectForeignPod(ctx, machine)
	})

	It("lets a client on the node read the kubelet's API at 127.0.0.1", Allows("KA-LOOPBACK-1"),
		func(ctx SpecContext) { expectLoopback(ctx, agent, "200") })

	It("lets a client that may only use nodes/proxy read a container's log", Allows("KA-CLOG-1"),
		func(ctx SpecContext) { expectContainerLog(ctx, agent) })

	It("lets a client send a path that the kubelet corrects", Allows("KA-PATH-1"), func(ctx SpecContext) {
		expectUncleanPath(ctx, agent, "307")
	})

	It("lets a client that may only use nodes/proxy read a kubelet through the API server", Allows("KA-VAP-1"),
		func(ctx SpecContext) { expectServerProxy(ctx, agent) })

	It("lets a static pod have a mirror pod with a label of its own", Allows("NR-MIRROR-2"), func(ctx SpecContext) {
		expectMirrorPod(ctx, machine)
	})

	It("lets a node do what RBAC grants it", Allows("NA-DEFAULT"), func(ctx SpecContext) {
		code, message, err := grantedNode(ctx).Send(ctx, List(api.Deployments))
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusOK), message)
	})

	It("lets a node read what the ClusterRole system:node grants it", Allows("NA-SECRET-1"), func(ctx SpecContext) {
		code, message, err := suite.AsNode(suite.Worker).Send(ctx, unrelatedSecret(ctx))
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusOK), message)
	})

	It("lets an account with a node scope list the pods of another node", Allows("NS-POD-1"), func(ctx SpecContext) {
		scoped.expectPodsOfOtherNode(ctx)
		kept.expectPodsOfOtherNode(ctx)
	})

	It("lets a client use a token that it should have read again", Allows("NR-SA-1"), func(ctx SpecContext) {
		expectStaleTokenWorks(ctx, stale)
	})

	It("reports each of them", Allows("NR-LABEL-1"), func(ctx SpecContext) {
		// In mode audit, a request passes without a finding if node-restriction does not answer within 2 s, as on
		// a busy machine. So what can be repeated, is.
		expectForeignPod(ctx, machine)
		expectNewMirrorPod(ctx, machine)
		// kube-apiserver has restarted. For a while, kubelet-auth-proxy cannot ask it for logs.
		suite.EventuallyOnControlPlane(ctx, 2*time.Minute, "bulkhead audit")
		node := "system:node:" + machine.Name
		expectFindings(suite.OnControlPlane(ctx, "bulkhead audit"), findings{"NR-LABEL-1": nodePool,
			"NR-TAINT-1": startupTaint, "NR-PODIP-1": node, "NR-MIRROR-2": node, "NA-DEFAULT": "",
			"NA-SECRET-1": "system:node:" + suite.Worker, "KA-CLOG-1": agent.User, "KA-LOOPBACK-1": "loopbackClients: allow",
			"NS-POD-1": nodescope.ModeAnnotation + ": audit", "KA-PATH-1": agent.User})
		expectFindings(suite.OnControlPlane(ctx, "bulkhead audit --audit-log="+auditLogSince(ctx, started)), findings{
			"NR-LABEL-1": nodePool, "NR-TAINT-1": startupTaint, "NR-PODIP-1": node, "NR-MIRROR-2": node,
			"stale-token": "extendExpiration", "KA-VAP-1": agent.User})
		expectFindings(suite.OnControlPlane(ctx, "bulkhead audit --metrics="+auditMetrics(ctx)), findings{"NR-LABEL-1": "",
			"NR-TAINT-1": "", "NR-PODIP-1": node, "NR-MIRROR-2": node, "NA-DEFAULT": "", "NS-POD-1": kept.user()})
		proxied, err := suite.Host.Run(ctx, suite.Worker,
			"curl -sSf http://127.0.0.1:10466/metrics | bulkhead audit --metrics=-")
		Expect(err).NotTo(HaveOccurred())
		expectFindings(proxied, findings{"KA-CLOG-1": agent.User, "KA-PATH-1": agent.User})
		preflight := suite.OnControlPlane(ctx, "bulkhead preflight --config="+beforeAudit+" --mode=audit")
		Expect(preflight).To(And(ContainSubstring("clients of 127.0.0.1:10250"), ContainSubstring("WARN  IPs of pods"),
			ContainSubstring("WARN  clients with old tokens"), ContainSubstring("loopbackClients: allow")))
	})

	It("is a finding of bulkhead doctor when it lasts longer than planned", Allows("NR-LABEL-1"), func(ctx SpecContext) {
		Eventually(ctx, func() []string { return examineAll(ctx)[doctor.Soon] }).WithTimeout(2 * time.Minute).
			WithPolling(time.Second).Should(ContainElement(And(
			HavePrefix("audit: ["+suite.ControlPlane+"]: --mode=audit since "),
			HaveSuffix("it lasts longer than planned"))))
	})

	It("refuses to enforce what would stop, until it is allowed", Denies("NR-PODIP-1"), func(ctx SpecContext) {
		expectForeignPod(ctx, machine)
		out, err := suite.Host.Run(ctx, suite.ControlPlane, "bulkhead install --config="+beforeAudit)
		Expect(err).To(HaveOccurred(), out)
		for _, check := range []string{"labels and taints of nodes", "IPs of pods", "clients with old tokens",
			"mirror pods of static pods", "clients of 127.0.0.1:10250"} {
			Expect(out).To(MatchRegexp("FAIL +" + check))
		}
		Expect(suite.OnControlPlane(ctx, "bulkhead status")).To(ContainSubstring("audit only"))
	})

	It("prints the settings with which mode enforce lets everything work", SlowSpec, Allows("NR-LABEL-1"),
		Allows("NR-TAINT-1"), func(ctx SpecContext) {
			enforce(ctx)
			replaceWorkersProxy(ctx)
			Expect(suite.Host.Run(ctx, suite.Worker, "bulkhead node install")).To(
				ContainSubstring("loopback clients: allow"))

			expectBulkhead(ctx)
			expectKarpenters(ctx, joinLikeKarpenter(ctx))
			expectForeignPod(ctx, machine)
			expectLoopback(ctx, agent, "200")
			expectContainerLog(ctx, agent)
			expectServerProxy(ctx, agent)
			expectNewMirrorPod(ctx, machine)
			expectStaleTokenWorks(ctx, stale)
			kept.expectPodsOfOtherNode(ctx)
			expectExtendedTokens(ctx)
		})

	It("enforces every other rule then", SlowSpec, Denies("NR-LABEL-1"), Denies("NS-POD-1"), Denies("NA-SECRET-1"),
		Denies("KA-PATH-1"), func(ctx SpecContext) {
			enforce(ctx)
			expectUncleanPath(ctx, agent, "400")
			suite.ExpectForbidden(ctx, grantedNode(ctx), List(api.Deployments), "NA-DEFAULT")
			suite.ExpectForbidden(ctx, suite.AsNode(suite.Worker), unrelatedSecret(ctx), "NA-SECRET-1")
			suite.ExpectForbidden(ctx, scoped.Identity, podsOfOtherNode(), "NS-POD-1")
			// The node pool is allowed, and no other label.
			_, err := machine.Host.Run(ctx, machine.Name, "kubectl --kubeconfig=/etc/kubernetes/kubelet.conf label node "+
				machine.Name+" example.com/other=x")
			Expect(err).To(MatchError(ContainSubstring("[NR-LABEL-2]")))
		})
})

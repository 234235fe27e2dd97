// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	askStatus = "bulkhead status --cluster --kubeconfig=/etc/kubernetes/admin.conf"
	// restartProxies replaces every pod of kubelet-auth-proxy and waits for the end of the rollout.
	restartProxies = "export KUBECONFIG=/etc/kubernetes/admin.conf; set -e; kubectl -n kube-system rollout restart " +
		"daemonset/" + KubeletProxy + "; kubectl -n kube-system rollout status --timeout=7m daemonset/" + KubeletProxy
	windowsCheck = "Windows nodes"
	// statusSettles bounds the time until an earlier spec no longer has an effect on a finding.
	statusSettles = 2 * time.Minute
)

// A Windows kubelet cannot run in the reference cluster. The specs register its Node with a client
// certificate that the cluster signed. noderestriction/windows_test.go has its other requests.
var _ = Describe("a Windows node", Serial, Ordered, Label(Disruptive, OnHost, OnHardened, Slow), func() {
	var (
		installed Installation
		name      string
	)

	BeforeAll(func(ctx SpecContext) {
		var err error
		installed, err = suite.ReadInstallation(ctx)
		Expect(err).NotTo(HaveOccurred())
		if installed.Profile != Hardened {
			Skip("only the profile hardened has kubelet-auth-proxy")
		}
		Expect(preflight(ctx)).To(MatchRegexp(`(?m)^OK +`+windowsCheck+` +none$`), "before the node joins")
		awaitStatus(ctx)
		env := suite.Env()
		node, err := suite.Certified(ctx, env.Own)
		Expect(err).NotTo(HaveOccurred())
		env.PutAs(ctx, node, fixtures.WindowsNode(env.Own, env.Address()))
		setAside(ctx, env.Own)
		name = env.Own
	})

	It("gets no pod of kubelet-auth-proxy, and does not stop the rollout on the other nodes", Allows("NR-LABEL-1"),
		func(ctx SpecContext) {
			before, err := proxies(ctx)
			Expect(err).NotTo(HaveOccurred())
			since := time.Now()
			suite.OnControlPlane(ctx, restartProxies)
			Measured("a rollout of kubelet-auth-proxy beside a Windows node", time.Since(since).Round(time.Second).String())
			suite.AwaitProxies(ctx)
			after, err := proxies(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(after).NotTo(HaveKey(name))
			// A pod on a node of an earlier spec may still be there, and is not replaced.
			for _, node := range []string{suite.ControlPlane, suite.Worker} {
				Expect(before).To(HaveKey(node))
				Expect(after).To(HaveKeyWithValue(node, Not(Equal(before[node]))), "a new pod on %s", node)
			}
		})

	It("is a warning of bulkhead preflight", Allows("NR-LABEL-1"), func(ctx SpecContext) {
		Expect(preflight(ctx)).To(
			MatchRegexp(`(?m)^WARN +` + windowsCheck + ` +` + name + `: kubelet-auth-proxy runs only on Linux`))
	})

	It("is left out, and no finding, in bulkhead status --cluster", Allows("NR-LABEL-1"), func(ctx SpecContext) {
		report := awaitStatus(ctx)
		Expect(report.Nodes).To(ContainElement(clusterstatus.Node{Name: name, Guard: clusterstatus.LeftOut}))
		Expect(report.Findings).NotTo(ContainElement(HaveField("Where", name)))
		Expect(suite.OnControlPlane(ctx, askStatus)).To(MatchRegexp(`(?m)^kubelets left out: 1: ` + name + `$`))
	})

	It("is no finding of bulkhead doctor", Allows("NR-LABEL-1"), func(ctx SpecContext) {
		Eventually(ctx, func() []string {
			urgent, soon := examine(ctx)
			// No kubelet runs on this node, and doctor says so.
			Expect(soon).NotTo(ContainElement(And(ContainSubstring(name), Not(HavePrefix("connections: ")))))
			return urgent
		}).WithTimeout(statusSettles).WithPolling(5 * time.Second).Should(BeEmpty())
	})

	It("does not stop bulkhead install, which changes nothing", Allows("NR-LABEL-1"), func(ctx SpecContext) {
		before := state(ctx)
		suite.OnControlPlane(ctx, installed.Command())
		Expect(state(ctx)).To(Equal(before))
		awaitStatus(ctx)
	})

	// The same Node with another operating system: so the specs above depend on it.
	It("with the label of Linux gets a pod of kubelet-auth-proxy, and is a finding", Allows("NR-LABEL-1"),
		func(ctx SpecContext) {
			env := suite.Env()
			DeferCleanup(removePods, env.Own)
			node := fixtures.WindowsNode(env.Own, env.Address())
			node.Labels[FakeNodeLabel], node.Labels[corev1.LabelOSStable] = "true", "linux"
			node.Spec.Unschedulable = true
			env.Put(ctx, node)
			Eventually(ctx, proxies).WithTimeout(ControllerManager).WithPolling(time.Second).Should(HaveKey(env.Own))

			Expect(preflight(ctx)).NotTo(MatchRegexp(`(?m)^WARN +` + windowsCheck + ` .*` + env.Own))
			report, _ := clusterReport(ctx)
			Expect(report.Nodes).To(ContainElement(And(HaveField("Name", env.Own),
				HaveField("Guard", Not(Equal(clusterstatus.LeftOut))))))
			Expect(report.Findings).To(ContainElement(HaveField("Where", env.Own)))
			urgent, _ := examine(ctx)
			Expect(urgent).To(ContainElement(ContainSubstring(env.Own)))
		})
})

// setAside keeps pods away from a Node without a kubelet.
func setAside(ctx context.Context, node string) {
	GinkgoHelper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}},"spec":{"unschedulable":true}}`, FakeNodeLabel)
	_, err := suite.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// proxies returns the UIDs of the pods of kubelet-auth-proxy, by node.
func proxies(ctx context.Context) (map[string]types.UID, error) {
	list, err := suite.Client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=kubelet-auth-proxy"})
	if err != nil {
		return nil, err
	}
	all := map[string]types.UID{}
	for i := range list.Items {
		all[list.Items[i].Spec.NodeName] = list.Items[i].UID
	}
	return all, nil
}

// removePods deletes the pods that DaemonSets created on a Node without a kubelet, after the Node.
func removePods(ctx context.Context, node string) error {
	now := int64(0)
	return suite.Client.CoreV1().Pods(metav1.NamespaceSystem).DeleteCollection(ctx,
		metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
}

// preflight returns the findings of bulkhead preflight. Other specs can cause findings with level FAIL.
func preflight(ctx context.Context) string {
	GinkgoHelper()
	return suite.OnControlPlane(ctx, "bulkhead preflight || true")
}

// clusterReport returns what bulkhead status --cluster prints, and an error if its exit code is not 0.
func clusterReport(ctx context.Context) (*clusterstatus.Report, error) {
	GinkgoHelper()
	out, failed := suite.Host.Run(ctx, suite.ControlPlane, askStatus+" -o json")
	report := &clusterstatus.Report{}
	Expect(json.Unmarshal([]byte(out), report)).To(Succeed(), "%s%v", out, failed)
	return report, failed
}

// awaitStatus waits until the exit code of bulkhead status --cluster is 0: a spec before this one may
// have restarted a component.
func awaitStatus(ctx context.Context) (report *clusterstatus.Report) {
	GinkgoHelper()
	Eventually(ctx, func() (err error) {
		report, err = clusterReport(ctx)
		return err
	}).WithTimeout(statusSettles).WithPolling(5 * time.Second).Should(Succeed())
	return report
}

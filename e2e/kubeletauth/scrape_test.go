// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// scrapes calls a kubelet as metrics-server does: from the pod network, at the node's own address,
// with the token and the CA of every pod. It prints the answer, and then the status on a new line.
const scrapes = `cd /var/run/secrets/kubernetes.io/serviceaccount &&
curl --silent --show-error --max-time 30 --cacert ca.crt --header "Authorization: Bearer $(cat token)" ` +
	`--write-out '\n%{http_code}' `

var _ = Describe("a scraper with the rights of metrics-server", Label(OnWorker, OnHardened), func() {
	// scraper returns a pod on the worker whose service account has these rights.
	scraper := func(ctx context.Context, has rights) *corev1.Pod {
		GinkgoHelper()
		its := suite.Env().Account(ctx)
		suite.Env().Grant(ctx, "system:serviceaccount:"+its.Namespace+":"+its.Name, has...)
		return running(ctx, suite.Env().Pod(ctx, suite.Worker, withShell(tickScript), fixtures.WithAccount))
	}

	It("reads /metrics/resource and /stats/summary of both nodes", Allows("KA-METRICS-1"), Allows("KA-STATS-1"),
		func(ctx SpecContext) {
			pod := scraper(ctx, may("get", "metrics", "stats"))
			for _, node := range []string{suite.Worker, suite.ControlPlane} {
				status, metrics := scrape(ctx, pod, node, "/metrics/resource")
				Expect(status).To(Equal("200"), metrics)
				Expect(metrics).To(ContainSubstring("\nnode_cpu_usage_seconds_total "))

				status, stats := scrape(ctx, pod, node, "/stats/summary")
				Expect(status).To(Equal("200"), stats)
				Expect(nodeOf(stats)).To(Equal(node))
			}
		})

	It("reads no metrics without the right to them", Denies("KA-METRICS-1"), func(ctx SpecContext) {
		pod := scraper(ctx, may("get", "stats"))
		status, answer := scrape(ctx, pod, suite.Worker, "/metrics/resource")
		Expect(status).To(Equal("403"), answer)
		Expect(answer).To(ContainSubstring("[KA-METRICS-1]"))
		status, answer = scrape(ctx, pod, suite.Worker, "/stats/summary")
		Expect(status).To(Equal("200"), answer)
	})

	It("reads no statistics without the right to them", Denies("KA-STATS-1"), func(ctx SpecContext) {
		pod := scraper(ctx, may("get", "metrics"))
		status, answer := scrape(ctx, pod, suite.Worker, "/stats/summary")
		Expect(status).To(Equal("403"), answer)
		Expect(answer).To(ContainSubstring("[KA-STATS-1]"))
		status, answer = scrape(ctx, pod, suite.Worker, "/metrics/resource")
		Expect(status).To(Equal("200"), answer)
	})
})

var _ = DescribeTable("an administrator reads through the API server", Label(OnHardened),
	func(ctx SpecContext, node func() string, path, text string) {
		Expect(kubectl(ctx, "get", "--raw", "/api/v1/nodes/"+node()+"/proxy"+path)).To(ContainSubstring(text))
	},
	Entry("the worker's metrics", Label(OnWorker), Allows("KA-METRICS-1"), func() string { return suite.Worker },
		"/metrics/resource", "node_cpu_usage_seconds_total"),
	Entry("the control plane's metrics", Allows("KA-METRICS-1"), func() string { return suite.ControlPlane },
		"/metrics/resource", "node_cpu_usage_seconds_total"),
	Entry("the worker's statistics", Label(OnWorker), Allows("KA-STATS-1"), func() string { return suite.Worker },
		"/stats/summary", `"nodeName"`),
)

// scrape requests a path of a node's kubelet from a pod.
func scrape(ctx context.Context, pod *corev1.Pod, node, path string) (status, answer string) {
	GinkgoHelper()
	out := kubectl(ctx, in(pod, "exec", shell, "--", "sh", "-c",
		scrapes+"'https://"+portOf(ctx, node).Address+path+"'")...)
	end := strings.LastIndex(out, "\n")
	Expect(end).To(BeNumerically(">=", 0), out)
	return out[end+1:], "\n" + out[:end]
}

// nodeOf returns the node that the statistics are about.
func nodeOf(stats string) string {
	GinkgoHelper()
	var summary struct {
		Node struct{ NodeName string }
	}
	Expect(json.Unmarshal([]byte(stats), &summary)).To(Succeed(), stats)
	return summary.Node.NodeName
}

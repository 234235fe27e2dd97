// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// proxyMetrics are the metrics of the component that runs on every node.
const proxyMetrics = "/metrics/bulkhead/kubelet-auth-proxy"

var _ = DescribeTable("metrics of Bulkhead's components:", Label(OnHardened), decide,
	Entry("GET is allowed", AllowsBy("KA-METRICS-2", "KA-METRICS-1"), may("*", "metrics"), get(proxyMetrics)),
	Entry("POST is denied", Denies("KA-METRICS-2"), may("*", "metrics"), Calling(http.MethodPost, proxyMetrics),
		http.StatusMethodNotAllowed),
	Entry("an upgrade is denied", Denies("KA-METRICS-2"), may("*", "metrics"), get(proxyMetrics).Upgrading(),
		http.StatusMethodNotAllowed),
	Entry("HEAD is allowed", AllowsBy("KA-METRICS-2", "KA-METRICS-1"), may("get", "metrics"),
		Calling(http.MethodHead, proxyMetrics)),
	Entry("get on nodes/metrics is enough", AllowsBy("KA-METRICS-2", "KA-METRICS-1"), may("get", "metrics"),
		get(proxyMetrics)),
	Entry("get on nodes/stats is not enough", Denies("KA-METRICS-1"), may("get", "stats"), get(proxyMetrics)),
	Entry("get on nodes/proxy is not enough", Denies("KA-METRICS-1"), may("get", "proxy"), get(proxyMetrics)),
	Entry("an unknown component is not found", AllowsBy("KA-METRICS-2", "KA-METRICS-1"), may("get", "metrics"),
		get("/metrics/bulkhead/e2e-none"), http.StatusNotFound),
)

var _ = Describe("metrics of components on the control plane", Label(OnHardened), func() {
	DescribeTable("are served there, and there only:", AllowsBy("KA-METRICS-2", "KA-METRICS-1"),
		func(ctx SpecContext, component, series string) {
			who, call := caller(ctx, may("get", "metrics")), get("/metrics/bulkhead/"+component)
			reply, _ := expectClaim(ctx, portOf(ctx, suite.ControlPlane), who, call)
			Expect(reply.Body).To(ContainSubstring("\n" + series))
			if suite.Worker == "" {
				return
			}
			reply, _ = expectClaim(ctx, portOf(ctx, suite.Worker), who, call, http.StatusNotFound)
			Expect(reply.Body).To(ContainSubstring(component + " does not run on this node"))
		},
		Entry("node-authorizer", "node-authorizer", "bulkhead_graph_edges "),
		Entry("node-restriction", "node-restriction", "bulkhead_configuration_in_force "),
	)
})

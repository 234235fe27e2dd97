// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func get(path string) Call { return Calling(http.MethodGet, path) }

// noContainer is the end of a path to a container that does not exist. The kubelet answers 404 to
// an authorized caller.
const noContainer = "/default/e2e-none/none"

// The part of the kubelet's own mapping that strict mode keeps. The kubelet of a plain cluster
// receives the same requests.
var _ = DescribeTable("a path of the kubelet needs a right to its subresource:", decide,
	Entry("/pods with nodes/pods", Allows("KA-POD-1"), may("get", "pods"), get("/pods")),
	Entry("/pods with nodes/proxy", Allows("KA-POD-1"), may("get", "proxy"), get("/pods")),
	Entry("/pods with nodes/stats", Denies("KA-POD-1"), may("get", "stats"), get("/pods")),
	Entry("/pods with another verb", Denies("KA-POD-1"), may("create", "pods", "proxy"), get("/pods")),
	Entry("/runningpods/ with nodes/pods", Allows("KA-POD-1"), may("get", "pods"), get("/runningpods/")),
	Entry("/runningpods/ with nodes/healthz", Denies("KA-POD-1"), may("get", "healthz"), get("/runningpods/")),

	Entry("/healthz with nodes/healthz", Allows("KA-HEALTH-1"), may("get", "healthz"), get("/healthz")),
	Entry("/healthz with nodes/proxy", Allows("KA-HEALTH-1"), may("get", "proxy"), get("/healthz")),
	Entry("/healthz/ping with nodes/healthz", Allows("KA-HEALTH-1"), may("get", "healthz"), get("/healthz/ping")),
	Entry("/healthz with nodes/metrics", Denies("KA-HEALTH-1"), may("get", "metrics"), get("/healthz")),

	Entry("/configz with nodes/configz", Allows("KA-CONFIG-1"), may("get", "configz"), get("/configz")),
	Entry("/configz with nodes/proxy", Allows("KA-CONFIG-1"), may("get", "proxy"), get("/configz")),
	Entry("/configz with nodes/statusz", Denies("KA-CONFIG-1"), may("get", "statusz"), get("/configz")),
	Entry("/flagz with nodes/configz", Allows("KA-CONFIG-1"), may("get", "configz"),
		get("/flagz").With("Accept: text/plain")),
	Entry("/flagz with nodes/proxy", Denies("KA-CONFIG-1"), may("get", "proxy"), get("/flagz").With("Accept: text/plain")),

	Entry("/statusz with nodes/statusz", Allows("KA-STATUS-1"), may("get", "statusz"),
		get("/statusz").With("Accept: text/plain")),
	Entry("/statusz with nodes/proxy", Denies("KA-STATUS-1"), may("get", "proxy"),
		get("/statusz").With("Accept: text/plain")),

	Entry("/stats/summary with nodes/stats", Allows("KA-STATS-1"), may("get", "stats"), get("/stats/summary")),
	Entry("/stats/summary with nodes/proxy", Denies("KA-STATS-1"), may("get", "proxy"), get("/stats/summary")),
	Entry("/stats/summary?only_cpu_and_memory=true with nodes/stats", Allows("KA-STATS-1"), may("get", "stats"),
		get("/stats/summary?only_cpu_and_memory=true")),

	Entry("/metrics with nodes/metrics", Allows("KA-METRICS-1"), may("get", "metrics"), get("/metrics")),
	Entry("/metrics with nodes/proxy", Denies("KA-METRICS-1"), may("get", "proxy"), get("/metrics")),
	Entry("/metrics/resource with nodes/metrics", Allows("KA-METRICS-1"), may("get", "metrics"), get("/metrics/resource")),
	Entry("/metrics/resource with nodes/stats", Denies("KA-METRICS-1"), may("get", "stats"), get("/metrics/resource")),
	Entry("/metrics/cadvisor with nodes/metrics", Allows("KA-METRICS-1"), may("get", "metrics"), get("/metrics/cadvisor")),
	Entry("/metrics/probes with nodes/metrics", Allows("KA-METRICS-1"), may("get", "metrics"), get("/metrics/probes")),
	Entry("/metrics/slis with nodes/metrics", Allows("KA-METRICS-1"), may("get", "metrics"), get("/metrics/slis")),

	Entry("/logs/ with nodes/log", Allows("KA-LOG-1"), may("get", "log"), get("/logs/")),
	Entry("/logs/ with nodes/proxy", Denies("KA-LOG-1"), may("get", "proxy"), get("/logs/")),
	Entry("/logs/pods/ with nodes/log", Allows("KA-LOG-1"), may("get", "log"), get("/logs/pods/")),
	Entry("/logs/pods/ with nodes/logs, which does not exist", Denies("KA-LOG-1"), may("get", "logs"), get("/logs/pods/")),

	Entry("/checkpoint/ with nodes/checkpoint", Allows("KA-CHECKPOINT-1"), may("create", "checkpoint"),
		Calling(http.MethodPost, "/checkpoint"+noContainer), http.StatusNotFound),
	Entry("/checkpoint/ with nodes/proxy", Denies("KA-CHECKPOINT-1"), may("create", "proxy"),
		Calling(http.MethodPost, "/checkpoint"+noContainer)),
	Entry("/checkpoint/ with another verb", Denies("KA-CHECKPOINT-1"), may("get", "checkpoint"),
		Calling(http.MethodPost, "/checkpoint"+noContainer)),
)

var _ = DescribeTable("the verb of a method:", decide,
	Entry("POST is create", Allows("KA-METRICS-1"), may("create", "metrics"), Calling(http.MethodPost, "/metrics")),
	Entry("POST is not get", Denies("KA-METRICS-1"), may("get", "metrics"), Calling(http.MethodPost, "/metrics")),
	Entry("PUT is update", Denies("KA-METRICS-1"), may("patch", "metrics"), Calling(http.MethodPut, "/metrics")),
	Entry("PATCH is patch", Denies("KA-METRICS-1"), may("update", "metrics"), Calling(http.MethodPatch, "/metrics")),
	Entry("DELETE is delete", Denies("KA-METRICS-1"), may("deletecollection", "metrics"),
		Calling(http.MethodDelete, "/metrics")),
	Entry("OPTIONS with all verbs: allowed", Allows("KA-METHOD-2"), may("*", "metrics"),
		Calling(http.MethodOptions, "/metrics")),
	Entry("OPTIONS with one verb: denied", Denies("KA-METHOD-2"), may("get", "metrics"),
		Calling(http.MethodOptions, "/metrics")),
	Entry("get in lower case has no verb: denied", Denies("KA-METHOD-2"), may("get", "metrics"),
		Calling("get", "/metrics")),
	Entry("an unknown method has no verb: denied", Denies("KA-METHOD-2"), may("get", "metrics"),
		Calling("GETS", "/metrics")),
)

var _ = Describe("a right", func() {
	It("to this node by name is enough", Allows("KA-STATS-1"), func(ctx SpecContext) {
		decide(ctx, may("get", "stats").named(target()), get("/stats/summary"))
	})
	It("to another node by name is not enough", Denies("KA-STATS-1"), func(ctx SpecContext) {
		decide(ctx, may("get", "stats").named("e2e-another-node"), get("/stats/summary"))
	})
	It("to nodes is not a right to their kubelets", Denies("KA-STATS-1"), func(ctx SpecContext) {
		on := may("get")
		on[0].Resources = []string{"nodes"}
		decide(ctx, on, get("/stats/summary"))
	})
})

// Where strict mode differs from the kubelet: it is stricter, or it needs fewer rights.
// compat_test.go sends the same requests to a proxy in compat mode and to the kubelet itself.
var _ = DescribeTable("strict mode", Label(OnHardened), decide,
	Entry("reads HEAD as get", Allows("KA-METRICS-1"), may("get", "metrics"), Calling(http.MethodHead, "/metrics")),
	Entry("denies HEAD without get", Denies("KA-METRICS-1"), may("get", "stats"), Calling(http.MethodHead, "/metrics")),
	Entry("requires nodes/pods for POST /pods", Allows("KA-POD-1"), may("create", "pods"),
		Calling(http.MethodPost, "/pods"),
		http.StatusMethodNotAllowed),
	Entry("denies POST /pods with nodes/proxy", Denies("KA-POD-1"), may("create", "proxy"),
		Calling(http.MethodPost, "/pods")),
	Entry("requires nodes/pods for GET /allocatedPods, which this kubelet does not serve", Allows("KA-POD-1"),
		may("get", "pods"), get("/allocatedPods"), http.StatusNotFound),
	Entry("denies GET /allocatedPods with nodes/proxy", Denies("KA-POD-1"), may("get", "proxy"),
		get("/allocatedPods")),
	Entry("denies POST /healthz with nodes/proxy", Denies("KA-HEALTH-1"), may("create", "proxy"),
		Calling(http.MethodPost, "/healthz")),
	Entry("denies POST /configz with nodes/proxy", Denies("KA-CONFIG-1"), may("create", "proxy"),
		Calling(http.MethodPost, "/configz")),
)

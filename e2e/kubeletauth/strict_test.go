// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// process is an endpoint that runs or joins a process, or reaches its ports. The pod does not
// exist: the kubelet answers 404 to an authorized caller.
type process struct {
	rule        rules.ID
	path        string
	subresource string
	// serverScript are the methods that the kubelet supports for it.
	serverScript []string
}

var processes = []process{
	{"KA-EXEC-1", "/exec" + noContainer + "?command=true&output=1", "exec", []string{http.MethodGet, http.MethodPost}},
	{"KA-ATTACH-1", "/attach" + noContainer + "?output=1", "attach", []string{http.MethodGet, http.MethodPost}},
	{"KA-PORT-1", "/portForward/default/e2e-none?port=80", "portforward", []string{http.MethodGet, http.MethodPost}},
	{"KA-RUN-1", "/run" + noContainer + "?cmd=true", "run", []string{http.MethodPost}},
}

// A right to read must not allow execution. In the kubelet it does: the kubelet checks the verb of
// the method on nodes/proxy, and a WebSocket begins with GET.
var _ = Describe("a path that runs or joins a process", func() {
	for _, p := range processes {
		Describe(p.subresource, func() {
			for _, method := range p.serverScript {
				It("is for who may create it, by "+method, Allows(p.rule), func(ctx SpecContext) {
					decide(ctx, may("create", p.subresource), Calling(method, p.path).Upgrading(), http.StatusNotFound)
				})
				It("is not for who may do everything with nodes/proxy, by "+method, DeniesBeyond(p.rule, "KA-PROXY-1"),
					func(ctx SpecContext) {
						decide(ctx, may("*", "proxy"), Calling(method, p.path).Upgrading(), http.StatusForbidden, http.StatusNotFound)
					})
			}
			It("is not for who may get nodes/proxy, by websocket", DeniesBeyond(p.rule, "KA-PROXY-1"), Attack("T10"),
				func(ctx SpecContext) {
					without := http.StatusNotFound
					if len(p.serverScript) == 1 {
						without = http.StatusMethodNotAllowed
					}
					decide(ctx, may("get", "proxy"), get(p.path).Upgrading(), http.StatusForbidden, without)
				})
			It("is not for who may get it", Denies(p.rule), Label(OnHardened), func(ctx SpecContext) {
				decide(ctx, may("get", p.subresource), get(p.path).Upgrading())
			})
			It("is not for who may create another", Denies(p.rule), Label(OnHardened), func(ctx SpecContext) {
				others := map[string][]string{
					"exec": {"attach", "portforward", "run", "unknown"}, "attach": {"exec", "portforward", "run", "unknown"},
					"portforward": {"exec", "attach", "run", "unknown"}, "run": {"exec", "attach", "portforward", "unknown"},
				}
				decide(ctx, may("create", others[p.subresource]...), Calling(http.MethodPost, p.path))
			})
		})
	}
})

var _ = DescribeTable("a right to nodes/proxy is not enough for", decide,
	Entry("logs of containers, with get on nodes/containerlogs", Allows("KA-CLOG-1"), may("get", "containerlogs"),
		get("/containerLogs"+noContainer), http.StatusNotFound),
	Entry("logs of containers", DeniesBeyond("KA-CLOG-1", "KA-PROXY-1"), may("get", "proxy"),
		get("/containerLogs"+noContainer), http.StatusForbidden, http.StatusNotFound),
	Entry("logs of containers, with another verb", Denies("KA-CLOG-1"), Label(OnHardened),
		may("create", "containerlogs"), get("/containerLogs"+noContainer)),

	Entry("profiles, with get on nodes/debug", Allows("KA-DEBUG-1"), may("get", "debug"), get("/debug/pprof/cmdline")),
	Entry("profiles", DeniesBeyond("KA-DEBUG-1", "KA-PROXY-1"), may("get", "proxy"), get("/debug/pprof/cmdline"),
		http.StatusForbidden, http.StatusOK),
	Entry("the kubelet's log level, with get", Denies("KA-DEBUG-1"), Label(OnHardened),
		may("get", "debug"),
		Calling(http.MethodPut, "/debug/flags/v").Sending("2")),

	Entry("unknown paths, with create on nodes/unknown", Allows("KA-UNKNOWN-1"), may("create", "unknown"),
		get("/e2e-nothing"), http.StatusNotFound),
	Entry("unknown paths", DeniesBeyond("KA-UNKNOWN-1", "KA-PROXY-1"), may("*", "proxy"), get("/e2e-nothing"),
		http.StatusForbidden, http.StatusNotFound),
	Entry("the root path", DeniesBeyond("KA-UNKNOWN-1", "KA-PROXY-1"), may("*", "proxy"), get("/"), http.StatusForbidden,
		http.StatusNotFound),
	Entry("paths that begin like a known path", DeniesBeyond("KA-UNKNOWN-1", "KA-PROXY-1"), may("*", "proxy", "exec"),
		get("/execs"+noContainer), http.StatusForbidden, http.StatusNotFound),
)

// This kubelet ignores an upgrade on these paths. A newer kubelet may accept it.
var _ = DescribeTable("a request for an upgrade needs create on the subresource of its path:", decide,
	Entry("/metrics with create", Allows("KA-UPGRADE-1"), may("create", "metrics"), get("/metrics").Upgrading()),
	Entry("/metrics with get", DeniesBeyond("KA-UPGRADE-1", "KA-METRICS-1"), may("get", "metrics"),
		get("/metrics").Upgrading(), http.StatusForbidden, http.StatusOK),
	Entry("/pods with get on nodes/proxy", DeniesBeyond("KA-UPGRADE-1", "KA-POD-1"), may("get", "proxy"),
		get("/pods").Upgrading(), http.StatusForbidden, http.StatusOK),
	Entry("/containerLogs/ with create", Allows("KA-UPGRADE-1"), may("create", "containerlogs"),
		get("/containerLogs"+noContainer).Upgrading(), http.StatusNotFound),
	Entry("/containerLogs/ with get", Denies("KA-UPGRADE-1"), Label(OnHardened), may("get", "containerlogs"),
		get("/containerLogs"+noContainer).Upgrading()),
	Entry("/pods to SPDY with get on nodes/pods", DeniesBeyond("KA-UPGRADE-1", "KA-POD-1"), may("get", "pods"),
		get("/pods").With("Connection: Upgrade", "Upgrade: SPDY/3.1"), http.StatusForbidden, http.StatusOK),
)

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The endpoints of the kubelet of Kubernetes 1.37, by the first segment of their paths
// (pkg/kubelet/server/server.go). /allocatedPods exists only with the feature gate
// KubeletAllocatedPodsEndpoint. The kubelet maps it even if the gate is off.
var (
	allocatedPodsEndpoint = allocated()
	podsEndpoint          = fineGrained(RulePods, SubresourcePods)
	healthzEndpoint       = fineGrained(RuleHealth, SubresourceHealthz)
	configzEndpoint       = fineGrained(RuleConfig, SubresourceConfigz)
	flagzEndpoint         = classic(RuleConfig, SubresourceConfigz)
	statuszEndpoint       = classic(RuleStatus, SubresourceStatusz)
	statsEndpoint         = classic(RuleStats, SubresourceStats)
	metricsEndpoint       = classic(RuleMetrics, SubresourceMetrics)
	logsEndpoint          = classic(RuleLog, SubresourceLog).naming(logTarget)
	checkpointEndpoint    = classic(RuleCheckpoint, SubresourceCheckpoint).naming(containerTarget)

	execEndpoint          = process(RuleExec, SubresourceExec, containerOrUIDTarget)
	attachEndpoint        = process(RuleAttach, SubresourceAttach, containerOrUIDTarget)
	runEndpoint           = process(RuleRun, SubresourceRun, containerOrUIDTarget)
	portForwardEndpoint   = process(RulePortForward, SubresourcePortForward, podTarget)
	containerLogsEndpoint = containerLogs()
	debugEndpoint         = extension(RuleDebug, SubresourceDebug)

	unknownEndpoint = unknownPath()
)

// firstSegments are the segments that [endpointOf] knows.
var firstSegments = []string{
	"allocatedPods", "pods", "runningpods", "healthz", "configz", "flagz", "statusz", "stats", "metrics", "logs",
	"checkpoint",
	"exec", "attach", "run", "portForward", "containerLogs", "debug",
}

// endpointOf finds the endpoint. The kubelet compares whole segments, and is case-sensitive
// (pkg/kubelet/server/auth.go isSubpath).
func endpointOf(first string) *endpoint {
	switch first {
	case "metrics":
		return &metricsEndpoint
	case "stats":
		return &statsEndpoint
	case "pods", "runningpods":
		return &podsEndpoint
	case "healthz":
		return &healthzEndpoint
	case "containerLogs":
		return &containerLogsEndpoint
	case "exec":
		return &execEndpoint
	case "attach":
		return &attachEndpoint
	case "portForward":
		return &portForwardEndpoint
	case "run":
		return &runEndpoint
	}
	return rareEndpointOf(first)
}

func rareEndpointOf(first string) *endpoint {
	switch first {
	case "configz":
		return &configzEndpoint
	case "flagz":
		return &flagzEndpoint
	case "statusz":
		return &statuszEndpoint
	case "logs":
		return &logsEndpoint
	case "checkpoint":
		return &checkpointEndpoint
	case "debug":
		return &debugEndpoint
	case "allocatedPods":
		return &allocatedPodsEndpoint
	}
	return &unknownEndpoint
}

// attempts are the rights to ask for, by verb. They are created once, not for each request.
type attempts [verbCount][]Attributes

func ask(subresources ...string) attempts {
	var table attempts
	for v, name := range verbNames {
		for _, subresource := range subresources {
			table[v] = append(table[v], Attributes{Verb: name, Subresource: subresource})
		}
	}
	return table
}

// askOrGet returns the attempts for subresource. For verb get, the right to orGet is also enough.
func askOrGet(subresource, orGet string) attempts {
	table := ask(subresource)
	table[verbGet] = append(table[verbGet], Attributes{Verb: verbNames[verbGet], Subresource: orGet})
	return table
}

// endpoint is the part of the kubelet's API below one first path segment.
type endpoint struct {
	// rule is the rule of the kubelet's own mapping.
	rule   rules.ID
	compat attempts
	// extension is the rule that replaces rule in Strict, or "" if none does.
	extension rules.ID
	strict    attempts
	// create means that Strict requires verb create, whatever the method.
	create bool
	// streams means that an answer can be long-lived without an upgrade.
	streams bool
	// target parses the rest of a path. It may be nil.
	target func(rest string) Target
}

// classic is an endpoint with its own subresource in the kubelet.
func classic(rule rules.ID, subresource string) endpoint {
	return endpoint{rule: rule, compat: ask(subresource), strict: ask(subresource)}
}

// fineGrained is an endpoint whose subresource is newer than the endpoint (KEP-2862). The kubelet
// also accepts nodes/proxy, because existing readers have that right. Strict accepts nodes/proxy
// for verb get only.
func fineGrained(rule rules.ID, subresource string) endpoint {
	return endpoint{rule: rule, compat: ask(subresource, SubresourceProxy),
		strict: askOrGet(subresource, SubresourceProxy)}
}

// extension is an endpoint for which the kubelet knows only nodes/proxy.
func extension(rule rules.ID, subresource string) endpoint {
	return endpoint{rule: RuleProxy, compat: ask(SubresourceProxy), extension: rule, strict: ask(subresource)}
}

// process is an endpoint that runs a process, attaches to one, or connects to its ports.
func process(rule rules.ID, subresource string, target func(string) Target) endpoint {
	e := extension(rule, subresource)
	e.create, e.streams, e.target = true, true, target
	return e
}

func (e endpoint) naming(target func(string) Target) endpoint {
	e.target = target
	return e
}

// allocated is an endpoint that is newer than its subresource. So Strict does not accept
// nodes/proxy: no existing reader depends on it.
func allocated() endpoint {
	e := fineGrained(RulePods, SubresourcePods).naming(podTarget)
	e.strict = ask(SubresourcePods)
	return e
}

func containerLogs() endpoint {
	e := extension(RuleContainerLogs, SubresourceContainerLogs).naming(containerTarget)
	e.streams = true
	return e
}

// unknownPath is for every other path. In a newer kubelet it could be anything, including a stream
// that executes commands.
func unknownPath() endpoint {
	e := extension(RuleUnknown, SubresourceUnknown)
	e.create = true
	return e
}

// The subresources of nodes that the kubelet asks about
// (pkg/kubelet/server/auth.go GetRequestAttributes, KEP-2862).
const (
	SubresourceCheckpoint = "checkpoint"
	SubresourceConfigz    = "configz"
	SubresourceHealthz    = "healthz"
	SubresourceLog        = "log"
	SubresourceMetrics    = "metrics"
	SubresourcePods       = "pods"
	SubresourceProxy      = "proxy"
	SubresourceStats      = "stats"
	SubresourceStatusz    = "statusz"
)

// The subresources of nodes that only [Strict] asks about.
const (
	SubresourceAttach        = "attach"
	SubresourceContainerLogs = "containerlogs"
	SubresourceDebug         = "debug"
	SubresourceExec          = "exec"
	SubresourcePortForward   = "portforward"
	SubresourceRun           = "run"
	// SubresourceUnknown is for paths that the kubelet of Kubernetes 1.37 does not have.
	SubresourceUnknown = "unknown"
)

// ServerPath is a path with the rights that a request through the API server needs, in addition to
// nodes/proxy.
type ServerPath struct {
	// Prefix is the start of the path: one or two segments, in lower case, without a slash at
	// either end. "*" means every path that no other prefix covers.
	Prefix string
	// Rights are the rights. One of them is enough.
	Rights []Attributes
}

// servedBy are the methods of paths that the kubelet serves with a method other than GET
// (pkg/kubelet/server/server.go InstallDefaultHandlers, InstallAuthNotRequiredHandlers).
var servedBy = map[string]string{"checkpoint": "POST", "debug/flags": "PUT"}

// ServerPaths returns the rights that rule KA-VAP-1 requires. They are the rights that [Strict]
// requires at the node's port. An admission policy does not see the HTTP method. So the verb is
// that of the method that the kubelet serves. With another method, the proxy decides by the rights
// of the API server's ClusterRoles.
func ServerPaths() []ServerPath {
	var paths []ServerPath
	for _, prefix := range slices.Concat(firstSegments, []string{"debug/flags", "*"}) {
		method := servedBy[prefix]
		if method == "" {
			method = "GET"
		}
		mapping, _ := Strict.Map(Request{Method: method, Path: "/" + prefix})
		paths = append(paths, ServerPath{Prefix: strings.ToLower(prefix), Rights: mapping.Attempts})
	}
	return paths
}

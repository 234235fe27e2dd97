// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The endpoints of the kubelet of Kubernetes 1.37, by the first segment of their
// paths (pkg/kubelet/server/server.go). /allocatedPods is there behind the feature
// gate KubeletAllocatedPodsEndpoint; the kubelet maps it with the gate off, too.
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
	debugEndpoint         = beyond(RuleDebug, SubresourceDebug)

	unknownEndpoint = unknownPath()
)

// firstSegments are what [endpointOf] knows.
var firstSegments = []string{
	"allocatedPods", "pods", "runningpods", "healthz", "configz", "flagz", "statusz", "stats", "metrics", "logs",
	"checkpoint",
	"exec", "attach", "run", "portForward", "containerLogs", "debug",
}

// endpointOf finds the endpoint. The kubelet compares whole segments, in their case
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

// attempts are what is asked about, by verb. They are made once, so that no request
// has to allocate its own.
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

// askOrGet adds one subresource that will do too, for verb get alone.
func askOrGet(subresource, orGet string) attempts {
	table := ask(subresource)
	table[verbGet] = append(table[verbGet], Attributes{Verb: verbNames[verbGet], Subresource: orGet})
	return table
}

// endpoint is everything of the kubelet's API below one first segment of a path.
type endpoint struct {
	// rule is that of the kubelet's own mapping.
	rule   rules.ID
	compat attempts
	// beyond is the rule that takes the place of rule in Strict; empty if none does.
	beyond rules.ID
	strict attempts
	// create: in Strict it is verb create that counts, whatever the method.
	create bool
	// streams: an answer can last without an upgrade.
	streams bool
	// target finds what the rest of a path names. It may be nil.
	target func(rest string) Target
}

// classic is an endpoint for which the kubelet has a subresource.
func classic(rule rules.ID, subresource string) endpoint {
	return endpoint{rule: rule, compat: ask(subresource), strict: ask(subresource)}
}

// fineGrained is an endpoint whose subresource is younger than the endpoint
// (KEP-2862), so that nodes/proxy will do as well. Those who were granted that read
// these; Strict spares their reads and nothing else.
func fineGrained(rule rules.ID, subresource string) endpoint {
	return endpoint{rule: rule, compat: ask(subresource, SubresourceProxy),
		strict: askOrGet(subresource, SubresourceProxy)}
}

// beyond is an endpoint for which the kubelet has nothing but nodes/proxy.
func beyond(rule rules.ID, subresource string) endpoint {
	return endpoint{rule: RuleProxy, compat: ask(SubresourceProxy), beyond: rule, strict: ask(subresource)}
}

// process is an endpoint that runs or joins a process, or reaches its ports.
func process(rule rules.ID, subresource string, target func(string) Target) endpoint {
	e := beyond(rule, subresource)
	e.create, e.streams, e.target = true, true, target
	return e
}

func (e endpoint) naming(target func(string) Target) endpoint {
	e.target = target
	return e
}

// allocated is an endpoint that is younger than its subresource: nobody was granted
// nodes/proxy to read it.
func allocated() endpoint {
	e := fineGrained(RulePods, SubresourcePods).naming(podTarget)
	e.strict = ask(SubresourcePods)
	return e
}

func containerLogs() endpoint {
	e := beyond(RuleContainerLogs, SubresourceContainerLogs).naming(containerTarget)
	e.streams = true
	return e
}

// unknownPath could be anything in a kubelet that is newer than this, a stream that
// execs included.
func unknownPath() endpoint {
	e := beyond(RuleUnknown, SubresourceUnknown)
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

// ServerPath is what a request through the API server needs besides nodes/proxy.
type ServerPath struct {
	// Prefix is how the path begins: one segment or two, in lower case and without a slash
	// at either end; * is every path that no other prefix covers.
	Prefix string
	// Rights are the rights, of which one is enough.
	Rights []Attributes
}

// servedBy are the methods that the kubelet serves where that is not GET
// (pkg/kubelet/server/server.go InstallDefaultHandlers, InstallAuthNotRequiredHandlers).
var servedBy = map[string]string{"checkpoint": "POST", "debug/flags": "PUT"}

// ServerPaths is what rule KA-VAP-1 asks for: what [Strict] asks for at the node's port.
// An admission policy does not see the HTTP method, so the verb is that of the method that
// the kubelet serves. By any other method the proxy refuses the API server, whose
// ClusterRole has these verbs only.
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

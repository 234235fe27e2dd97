// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

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

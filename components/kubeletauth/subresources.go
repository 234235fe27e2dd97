// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

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

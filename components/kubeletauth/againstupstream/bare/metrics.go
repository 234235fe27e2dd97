// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"fmt"
	"net/http"
	"runtime/metrics"
	"strings"
	"time"
)

// Health serves /readyz, and what the Go runtime measures at /metrics, by the names
// that kubelet-auth-proxy has for it.
func Health() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/metrics", writeMetrics)
	return &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
}

func writeMetrics(w http.ResponseWriter, _ *http.Request) {
	samples := make([]metrics.Sample, len(runtimeMetrics))
	for i, known := range runtimeMetrics {
		samples[i].Name = known.name
	}
	metrics.Read(samples)
	for i, known := range runtimeMetrics {
		fmt.Fprintf(w, "%s %d\n", nameOf(known), samples[i].Value.Uint64())
	}
}

// runtimeMetric is one of the Go runtime, a number that is not negative.
type runtimeMetric struct {
	name       string
	cumulative bool
}

var runtimeMetrics = []runtimeMetric{
	{"/gc/heap/allocs:objects", true},
	{"/gc/heap/allocs:bytes", true},
	{"/gc/heap/live:bytes", false},
	{"/gc/cycles/total:gc-cycles", true},
	{"/memory/classes/heap/stacks:bytes", false},
}

// nameOf is what prometheus/client_golang calls a metric of the runtime
// (prometheus/internal/go_runtime_metrics.go RuntimeMetricsToProm).
func nameOf(m runtimeMetric) string {
	path, unit, _ := strings.Cut(m.name, ":")
	name := "go" + strings.NewReplacer("/", "_", "-", "_").Replace(path) + "_" + strings.ReplaceAll(unit, "-", "_")
	if m.cumulative {
		name += "_total"
	}
	return name
}

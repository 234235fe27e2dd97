// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configfile

import "k8s.io/component-base/metrics"

// recorder holds the metrics that show whether the file's policy is in force.
type recorder struct {
	loads   *metrics.CounterVec
	current *metrics.Gauge
	since   *metrics.Gauge
}

func newRecorder(registry metrics.KubeRegistry) *recorder {
	r := &recorder{
		loads: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_configuration_loads_total",
			Help: "Configurations that were read, by whether they were good or bad. A bad one is counted once.",
		}, []string{"result"}),
		current: metrics.NewGauge(&metrics.GaugeOpts{
			Name: "bulkhead_configuration_in_force",
			Help: "1 if the configuration file is what is in force; 0 if it is bad, and the last good one is kept.",
		}),
		since: metrics.NewGauge(&metrics.GaugeOpts{
			Name: "bulkhead_configuration_loaded_timestamp_seconds",
			Help: "When the configuration that is in force was read.",
		}),
	}
	if registry == nil {
		registry = metrics.NewKubeRegistry()
	}
	registry.MustRegister(r.loads, r.current, r.since)
	return r
}

func (r *recorder) good() {
	r.loads.WithLabelValues("good").Inc()
	r.current.Set(1)
	r.since.SetToCurrentTime()
}

func (r *recorder) bad() {
	r.loads.WithLabelValues("bad").Inc()
	r.current.Set(0)
}

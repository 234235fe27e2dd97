// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// viewCollector reports the current size and age of the view at each scrape.
type viewCollector struct {
	metrics.BaseStableCollector
	view                *view
	objects, edges, lag *metrics.Desc
}

func newViewCollector(v *view) *viewCollector {
	return &viewCollector{
		view: v,
		objects: metrics.NewDesc("bulkhead_graph_objects",
			"Objects that something on a node, or a volume, refers to.", []string{"kind"}, nil, metrics.ALPHA, ""),
		edges: metrics.NewDesc("bulkhead_graph_edges",
			"Relations between objects, and between objects and nodes.", nil, nil, metrics.ALPHA, ""),
		lag: metrics.NewDesc("bulkhead_view_lag_seconds",
			"Time since the API server last sent anything about the resource. In a healthy cluster without changes, it is "+
				"about a minute.",
			[]string{"resource"}, nil, metrics.ALPHA, ""),
	}
}

func (c *viewCollector) DescribeWithStability(out chan<- *metrics.Desc) {
	out <- c.objects
	out <- c.edges
	out <- c.lag
}

func (c *viewCollector) CollectWithStability(out chan<- metrics.Metric) {
	stats := c.view.graph.Stats()
	for _, kind := range graph.Kinds() {
		out <- metrics.NewLazyConstMetric(c.objects, metrics.GaugeValue, float64(stats.Objects[kind]), kind.String())
	}
	out <- metrics.NewLazyConstMetric(c.edges, metrics.GaugeValue, float64(stats.Edges))
	for _, p := range c.view.sync.Progress() {
		if p.Served && !p.Heard.IsZero() {
			out <- metrics.NewLazyConstMetric(c.lag, metrics.GaugeValue, time.Since(p.Heard).Seconds(), p.Resource)
		}
	}
}

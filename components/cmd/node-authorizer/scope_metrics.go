// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// scopeCollector reports at each scrape how many objects have a scope, and how old the view of them
// is.
type scopeCollector struct {
	metrics.BaseStableCollector
	view                           *view
	scoped, unread, overShare, lag *metrics.Desc
}

func newScopeCollector(v *view) *scopeCollector {
	kind := []string{"kind"}
	return &scopeCollector{
		view: v,
		scoped: metrics.NewDesc("bulkhead_node_scope_annotated",
			"Objects whose annotation limits pods to their nodes, by kind.", kind, nil, metrics.ALPHA, ""),
		unread: metrics.NewDesc("bulkhead_node_scope_unread_annotations",
			"Objects with an invalid node scope annotation, so that pods are limited on everything, or not "+
				"exempt.", kind, nil, metrics.ALPHA, ""),
		overShare: metrics.NewDesc("bulkhead_node_scope_beyond_share",
			"Objects beyond their namespace's share. reason=list: the account has a scope and is not protected. "+
				"reason=values: its annotation is one of too many different ones, so its pods are limited on everything.",
			[]string{"kind", "reason"}, nil, metrics.ALPHA, ""),
		lag: metrics.NewDesc("bulkhead_node_scope_view_lag_seconds",
			"Time since the API server last sent anything about service accounts. In a healthy cluster without changes, it "+
				"is about a minute.",
			nil, nil, metrics.ALPHA, ""),
	}
}

func (c *scopeCollector) DescribeWithStability(out chan<- *metrics.Desc) {
	out <- c.scoped
	out <- c.unread
	out <- c.overShare
	out <- c.lag
}

func (c *scopeCollector) CollectWithStability(out chan<- metrics.Metric) {
	stats := c.view.scopes.Stats()
	gauge := func(desc *metrics.Desc, value int, labels ...string) {
		out <- metrics.NewLazyConstMetric(desc, metrics.GaugeValue, float64(value), labels...)
	}
	gauge(c.scoped, stats.Accounts, "ServiceAccount")
	gauge(c.scoped, stats.Pods, "Pod")
	gauge(c.unread, stats.UnreadAccounts, "ServiceAccount")
	gauge(c.unread, stats.UnreadPods, "Pod")
	_, overShare := scopelist.Fit(c.view.scopes.Candidates())
	gauge(c.overShare, len(overShare), "ServiceAccount", "list")
	gauge(c.overShare, stats.AccountsOverShare, "ServiceAccount", "values")
	gauge(c.overShare, stats.PodsOverShare, "Pod", "values")
	for _, p := range c.view.accounts.Progress() {
		if !p.Heard.IsZero() {
			out <- metrics.NewLazyConstMetric(c.lag, metrics.GaugeValue, time.Since(p.Heard).Seconds())
		}
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"encoding/hex"
	"strings"

	"k8s.io/component-base/metrics"
)

// counters count refusals.
type counters struct{ revoked, expired metrics.CounterMetric }

type recorder struct {
	counters
	failed, missing, unsaved *metrics.Gauge
}

func newRecorder(registry metrics.KubeRegistry, lists func() *Lists) *recorder {
	refusals := metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "bulkhead_kubelet_crl_refusals_total",
		Help: "Client certificates refused, because they are revoked or because the list of their issuer has expired. One " +
			"that is shown again within 10 s may count once.",
	}, []string{"reason"})
	failed := metrics.NewGauge(&metrics.GaugeOpts{
		Name: "bulkhead_kubelet_crl_failed_files",
		Help: "Files with certificate revocation lists that could not be used when they were last read. The last good ones " +
			"are in use.",
	})
	missing := metrics.NewGauge(&metrics.GaugeOpts{
		Name: "bulkhead_kubelet_crl_missing_lists",
		Help: "Certificate revocation lists that are in use although no file has them any more, nor a newer one of their CA.",
	})
	unsaved := metrics.NewGauge(&metrics.GaugeOpts{
		Name: "bulkhead_kubelet_crl_state_failed",
		Help: "1 if the newest certificate revocation lists could not be written to --client-crl-state. A restart may then " +
			"take an older one.",
	})
	registry.MustRegister(refusals, failed, missing, unsaved)
	registry.CustomMustRegister(newCollector(lists))
	return &recorder{
		counters: counters{revoked: refusals.WithLabelValues("revoked"), expired: refusals.WithLabelValues("expired")},
		failed:   failed, missing: missing, unsaved: unsaved,
	}
}

// collector reports the lists as they are when metrics are read.
type collector struct {
	metrics.BaseStableCollector
	lists                  func() *Lists
	thisUpdate, nextUpdate *metrics.Desc
	entries                *metrics.Desc
}

func newCollector(lists func() *Lists) *collector {
	describe := func(name, help string) *metrics.Desc {
		return metrics.NewDesc(name, help, []string{"issuer", "key"}, nil, metrics.ALPHA, "")
	}
	return &collector{
		lists: lists,
		thisUpdate: describe("bulkhead_kubelet_crl_this_update_timestamp_seconds",
			"When the certificate revocation list was made, in seconds since 1970. Its age is the time since then."),
		nextUpdate: describe("bulkhead_kubelet_crl_next_update_timestamp_seconds",
			"When the certificate revocation list expires, in seconds since 1970."),
		entries: describe("bulkhead_kubelet_crl_entries", "Certificates that the list revokes."),
	}
}

func (c *collector) DescribeWithStability(out chan<- *metrics.Desc) {
	out <- c.thisUpdate
	out <- c.nextUpdate
	out <- c.entries
}

func (c *collector) CollectWithStability(out chan<- metrics.Metric) {
	lists := c.lists()
	if lists == nil {
		return
	}
	for issuer, l := range lists.byIssuer {
		report := func(what *metrics.Desc, value float64) {
			// The key tells two CAs of one name apart.
			out <- metrics.NewLazyConstMetric(what, metrics.GaugeValue, value, strings.ToValidUTF8(l.name, "?"),
				hex.EncodeToString(issuer[:4]))
		}
		report(c.thisUpdate, float64(l.thisUpdate.Unix()))
		report(c.nextUpdate, float64(l.nextUpdate.Unix()))
		report(c.entries, float64(len(l.revoked)))
	}
}

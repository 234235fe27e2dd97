// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/standin"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/load"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// perSecond is how often a caller asks, for the table.
const perSecond = 100

// held shows what is left to ask with different times.
func held(ctx context.Context, w *sides.World, plan sides.Plan) (report.Table, error) {
	table := report.Table{
		Title:  "How long an answer about access is held",
		Header: []string{"held for", "SubjectAccessReviews for 1000 requests", "p50", "p99", "mean"},
	}
	for _, ttl := range []time.Duration{0, 100 * time.Millisecond, time.Second, 5 * time.Minute} {
		plan.Say("reviews: answers held for %v", ttl)
		row, err := heldFor(ctx, w, ttl, time.Duration(plan.Runs)*plan.Turn)
		if err != nil {
			return table, err
		}
		table.Rows = append(table.Rows, row)
	}
	return table, nil
}

func heldFor(ctx context.Context, w *sides.World, ttl, lasting time.Duration) ([]string, error) {
	side, err := w.StartOurs(ctx, accessTTL+ttl.String())
	if err != nil {
		return nil, err
	}
	defer side.Stop()
	get, err := side.Get(sides.Callers()[0], standin.Small, standin.SmallBytes)
	if err != nil {
		return nil, err
	}
	// Connections are made.
	if err := get(ctx, 0); err != nil {
		return nil, err
	}
	before, err := side.Health.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	sample, err := load.OpenLoop(ctx, perSecond, lasting, get)
	if err != nil {
		return nil, err
	}
	after, err := side.Health.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	const reviews = `bulkhead_kubelet_access_reviews_total{outcome="answered"}`
	return []string{
		ttl.String(), fmt.Sprintf("%.0f", 1000*(after[reviews]-before[reviews])/float64(len(sample))),
		fmt.Sprintf("%.0f µs", sample.Percentile(50)), fmt.Sprintf("%.0f µs", sample.Percentile(99)), fmt.Sprintf("%.0f µs", mean(sample)),
	}, nil
}

func mean(sample report.Sample) float64 {
	sum := 0.0
	for _, value := range sample {
		sum += value
	}
	return sum / float64(len(sample))
}

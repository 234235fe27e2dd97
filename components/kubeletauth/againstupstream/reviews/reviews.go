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

const text = `In the place of kube-apiserver stands a program that answers a review %v after it came, over one connection, with HTTP/2, mutual TLS and protobuf.
What is published at the top is what a request takes longer than one for which answers are held, without these %v: one caller, one request
after the other. A token that is not held needs two reviews, one after the other: whose it is, and whether they may.

The table has one caller with %d requests a second at random moments, and the answer about its access held for that long. With 0 each asks,
but for requests at the same time, which share a review; 5 minutes are the default. Who asks more seldom finds nothing held; a scrape every 15 seconds
asks the API server once in 20 times then.`

// asker is a caller with the flags that have it ask.
type asker struct {
	name   string
	caller sides.Caller
	// reviews are those that a request makes.
	reviews int
	flags   []string
}

const (
	accessTTL = "--authorization-webhook-cache-authorized-ttl="
	tokenTTL  = "--authentication-token-webhook-cache-ttl="
)

// unlimited lifts the limits on TokenReviews, which are far below what is asked here.
var unlimited = []string{
	"--authentication-token-review-client-qps=1e6", "--authentication-token-review-client-burst=1000000",
	"--authentication-token-review-qps=1e6", "--authentication-token-review-burst=1000000",
}

func askers() []asker {
	callers := sides.Callers()
	return []asker{
		{"a SubjectAccessReview", callers[0], 1, []string{accessTTL + "0"}},
		{"a TokenReview", callers[1], 1, append([]string{tokenTTL + "0"}, unlimited...)},
		{"a TokenReview and a SubjectAccessReview", callers[1], 2, append([]string{tokenTTL + "0", accessTTL + "0"}, unlimited...)},
	}
}

// Section measures misses, and how few there are.
func Section(ctx context.Context, w *sides.World, plan sides.Plan) (report.Section, error) {
	section := report.Section{Title: "What is asked of the API server", Text: fmt.Sprintf(text, sides.Latency, sides.Latency, perSecond)}
	for _, a := range askers() {
		plan.Say("reviews: %s for each request", a.name)
		row, err := a.row(ctx, w, plan)
		if err != nil {
			return section, err
		}
		section.Rows = append(section.Rows, row)
	}
	table, err := held(ctx, w, plan)
	section.Tables = append(section.Tables, table)
	return section, err
}

// row is what it costs beside the time of the API server, in microseconds.
func (a asker) row(ctx context.Context, w *sides.World, plan sides.Plan) (row report.Row, err error) {
	// The same request with all answers held.
	held, err := a.took(ctx, w, plan)
	if err != nil {
		return row, err
	}
	usual := held.Median()
	whole, err := a.took(ctx, w, plan, a.flags...)
	if err != nil {
		return row, err
	}
	apiServer := time.Duration(a.reviews) * sides.Latency
	var cost report.Sample
	for _, p50 := range whole {
		cost = append(cost, p50-usual-float64(apiServer.Microseconds()))
	}
	row = report.FromSample(fmt.Sprintf("cost of %s beside the API server's %v", a.name, apiServer), report.NoBar, "%.0f µs", cost)
	row.Note = fmt.Sprintf("%s: p50 %.0f µs in all, %.0f µs with answers held", a.caller.Name, whole.Median(), usual)
	return row, nil
}

// took is the p50 of each run in a process with those flags, in microseconds.
func (a asker) took(ctx context.Context, w *sides.World, plan sides.Plan, flags ...string) (p50 report.Sample, err error) {
	side, err := w.StartOurs(ctx, flags...)
	if err != nil {
		return nil, err
	}
	defer side.Stop()
	get, err := side.Get(a.caller, standin.Small, standin.SmallBytes)
	if err != nil {
		return nil, err
	}
	for run := range plan.Runs + 1 {
		sample, _, err := load.ClosedLoop(ctx, 1, plan.Turn, get)
		if err != nil {
			return nil, err
		}
		// The first has the connections made.
		if run > 0 {
			p50 = append(p50, sample.Percentile(50))
		}
	}
	return p50, nil
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// result is what a run has found.
type result struct {
	rows []*row
	// others are alerts that fired outside of the breaks that cause them.
	others     []*firing
	began      time.Time
	lasted     time.Duration
	kubernetes string
	prometheus string
}

// result returns the rows in the order of the breaks.
func (r *runner) result(p *prometheus) *result {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := slices.Clone(r.rows)
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(a.cause.String(), b.cause.String()) })
	return &result{
		rows: rows, others: unexpected(rows, r.fired), began: r.began, lasted: time.Since(r.began),
		kubernetes: p.cluster.kubernetesVersion, prometheus: p.cluster.prometheusVersion,
	}
}

// unexpected returns the firings that begin outside of every break that expects their alert.
func unexpected(rows []*row, fired []*firing) (others []*firing) {
	for _, f := range fired {
		expected := slices.ContainsFunc(rows, func(row *row) bool {
			return !row.began.IsZero() && row.breakage.expects(f.name) && f.begin.After(row.began) && f.begin.Before(row.ended)
		})
		if !expected {
			others = append(others, f)
		}
	}
	return others
}

// failure returns an error if an alert did not fire or did not resolve, or if a component panicked
// outside of the break that causes it.
func (r *result) failure() error {
	failed := map[string]error{}
	for _, row := range r.rows {
		if row.err != nil {
			failed[strings.Join(row.breakage.names(), ", ")] = row.err
		}
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		all = append(all, fmt.Errorf("%s: %w", name, failed[name]))
	}
	for _, f := range r.others {
		if f.name == panicAlert {
			all = append(all, fmt.Errorf("%s fired outside of its break: %v", f.name, f.labels))
		}
	}
	return errors.Join(all...)
}

// duration returns whole seconds, or a dash for none.
func duration(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// minutes returns whole minutes.
func minutes(d time.Duration) string { return fmt.Sprintf("%.0f minutes", d.Minutes()) }

// text returns the table, for the terminal.
func (r *result) text() string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ALERT\tFIRED AFTER\tRESOLVED AFTER\tRESULT")
	for _, row := range r.rows {
		verdict := "ok"
		if row.again {
			verdict = "ok at the second attempt"
		}
		if row.err != nil {
			verdict = "FAILED"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", row.cause, duration(row.fired), duration(row.resolved), verdict)
	}
	_ = table.Flush()
	for _, f := range r.others {
		fmt.Fprintf(&b, "also fired: %s, %s after the start of the run, for %s\n", f.name,
			f.begin.Sub(r.began).Round(time.Second), f.end.Sub(f.begin).Round(time.Second))
	}
	fmt.Fprintf(&b, "%d alerts caused in %s\n", len(r.rows), r.lasted.Round(time.Second))
	return b.String()
}

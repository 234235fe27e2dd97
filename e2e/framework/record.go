// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// Names of report entries. Only report entries get from a parallel process to the report.
const (
	// TimeToAllow is the time until a new right was in effect.
	TimeToAllow = "time to allow"
	// TimeToRefuse is the time until a removed right was no longer in effect.
	TimeToRefuse = "time to refuse"

	userEntry        = "user"
	measurementEntry = "measured: "
)

func recordUser(who *Identity) {
	for _, entry := range ginkgo.CurrentSpecReport().ReportEntries {
		if entry.Name == userEntry && entry.StringRepresentation() == who.User {
			return
		}
	}
	ginkgo.AddReportEntry(userEntry, who.User, ginkgo.ReportEntryVisibilityNever)
}

func recordDuration(name string, d time.Duration) {
	ginkgo.AddReportEntry(name, d.String(), ginkgo.ReportEntryVisibilityFailureOrVerbose)
}

// Measured adds a figure to the report.
func Measured(what, figure string) {
	ginkgo.AddReportEntry(measurementEntry+what, figure, ginkgo.ReportEntryVisibilityAlways)
}

// Latencies summarizes how long many requests took.
func Latencies(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(all))
	return fmt.Sprintf("p50 %s, p99 %s, longest %s", percentile(sorted, 50), percentile(sorted, 99),
		sorted[len(sorted)-1].Round(time.Millisecond))
}

func users(spec types.SpecReport) []string {
	var all []string
	for _, entry := range spec.ReportEntries {
		if user := entry.StringRepresentation(); entry.Name == userEntry && !slices.Contains(all, user) {
			all = append(all, user)
		}
	}
	return all
}

func durations(report types.Report, name string) []time.Duration {
	var all []time.Duration
	for _, spec := range report.SpecReports {
		for _, entry := range spec.ReportEntries {
			if entry.Name != name {
				continue
			}
			if d, err := time.ParseDuration(strings.TrimSpace(entry.StringRepresentation())); err == nil {
				all = append(all, d)
			}
		}
	}
	slices.Sort(all)
	return all
}

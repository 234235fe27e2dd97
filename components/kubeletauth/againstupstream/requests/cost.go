// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"context"
	"fmt"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// addAllocations publishes what the proxies allocate for one request, one at a time.
func addAllocations(ctx context.Context, all [sides.Number]*sides.Side, counted int, section *report.Section) error {
	table := report.Table{Title: "What a proxy allocates for one request: ours, bare", Header: []string{"body", "caller", "allocations", "bytes"}}
	for _, body := range bodies {
		for _, caller := range sides.Callers() {
			var objects, bytes [2]float64
			for i := range objects {
				var err error
				if objects[i], bytes[i], err = allocations(ctx, all[i], caller, body, counted); err != nil {
					return err
				}
			}
			table.Rows = append(table.Rows, []string{
				body.name, caller.Name, fmt.Sprintf("%.0f, %.0f", objects[0], objects[1]), fmt.Sprintf("%.0f, %.0f", bytes[0], bytes[1]),
			})
			if caller.Token == "" && !caller.HTTP1 {
				row := report.FromSample("allocations of a request of "+body.name, report.NoBar, "%.0f", report.Sample{objects[0]})
				row.Note = fmt.Sprintf("%s; %.0f bytes; bare %.0f, of %.0f bytes", caller.Name, bytes[0], objects[1], bytes[1])
				section.Rows = append(section.Rows, row)
			}
		}
	}
	section.Tables = append(section.Tables, table)
	return nil
}

// allocations are those of the whole process, on average, as its Go runtime counts
// them.
func allocations(ctx context.Context, side *sides.Side, caller sides.Caller, body body, counted int) (objects, bytes float64, err error) {
	get, err := side.Get(caller, body.path, body.size)
	if err != nil {
		return 0, 0, err
	}
	// Connections, and what is held of the caller, are there then.
	if err := get(ctx, 0); err != nil {
		return 0, 0, err
	}
	before, err := side.Health.Metrics(ctx)
	if err != nil {
		return 0, 0, err
	}
	for n := range counted {
		if err := get(ctx, n); err != nil {
			return 0, 0, err
		}
	}
	after, err := side.Health.Metrics(ctx)
	of := func(name string) float64 { return (after[name] - before[name]) / float64(counted) }
	return of("go_gc_heap_allocs_objects_total"), of("go_gc_heap_allocs_bytes_total"), err
}

// addLost says that all of the audit log was written: to lose lines would be cheap.
func addLost(ctx context.Context, ours *sides.Side, section *report.Section) error {
	values, err := ours.Health.Metrics(ctx)
	if err != nil {
		return err
	}
	lost := 0.0
	for name, value := range values {
		if strings.HasPrefix(name, "bulkhead_audit_lines_dropped_total") {
			lost += value
		}
	}
	row := report.FromSample("audit lines lost", 0, "%.0f", report.Sample{lost})
	row.Note = fmt.Sprintf("of %.0f", values[`bulkhead_kubelet_decision_duration_seconds_count`])
	section.Rows = append(section.Rows, row)
	return nil
}

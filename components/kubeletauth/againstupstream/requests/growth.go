// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// growth is how long a small request takes as there are more callers.
func growth(ctx context.Context, all [sides.Number]*sides.Side, plan sides.Plan) (report.Curves, error) {
	curves := report.Curves{Title: "A request of 2 KB as more ask at a time", X: "callers", Y: "microseconds, p50"}
	for i, name := range sides.Names {
		curves.Lines = append(curves.Lines, report.Line{Name: name, Theirs: i != sides.Ours})
	}
	plan.Turn /= 2
	for callers := 1; callers <= 64; callers *= 2 {
		f := &found{body: bodies[0], caller: sides.Callers()[0], callers: callers}
		if err := f.measure(ctx, all, plan); err != nil {
			return curves, err
		}
		for i := range curves.Lines {
			curves.Lines[i].X = append(curves.Lines[i].X, float64(callers))
			curves.Lines[i].Y = append(curves.Lines[i].Y, f.p50[i].Median())
		}
	}
	return curves, nil
}

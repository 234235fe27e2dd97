// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/child"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// restriction starts node-restriction as the static pod of the hardened profile does,
// waits until it is at rest, and ends it. It reads pods one by one when it is asked, and
// follows the Nodes only.
func (p *controlPlane) restriction(ctx context.Context, plan Plan) (m child.Memory, ready time.Duration, err error) {
	r, ready, err := p.startProgram(ctx, "node-restriction", "900MiB", "--api-audiences=https://benchmark.invalid")
	if err != nil {
		return m, 0, err
	}
	defer r.Stop()
	select {
	case <-ctx.Done():
		return m, 0, ctx.Err()
	case <-time.After(plan.Rest):
	}
	m, err = r.Memory()
	return m, ready, err
}

// restrictions are the rows of node-restriction in front of the same API server.
func (p *controlPlane) restrictions(ctx context.Context, plan Plan) ([]report.Row, error) {
	var peaks, rests, readies report.Sample
	for i := range plan.Runs {
		m, ready, err := p.restriction(ctx, plan)
		if err != nil {
			return nil, err
		}
		plan.Say("node-restriction, run %d of %d: ready after %v, %.0f MB at most, %.0f MB at rest", i+1, plan.Runs, ready.Round(time.Millisecond), m.Peak, m.Now)
		peaks, rests, readies = append(peaks, m.Peak), append(rests, m.Now), append(readies, ready.Seconds())
	}
	return []report.Row{
		report.FromSample("node-restriction, resident memory at most", memoryBar, "%.0f MB", peaks),
		report.FromSample("node-restriction, resident memory at rest", memoryBar, "%.0f MB", rests),
		report.FromSample("node-restriction, ready after its start", readyBar, "%.1f s", readies),
	}, nil
}

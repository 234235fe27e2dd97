// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPlacesOfNodes(t *testing.T) { synctest.Test(t, testPlaces) }

func testPlaces(t *testing.T) {
	const queueTimeout = time.Second
	l := NewLimiter(Limits{InFlight: 3, InFlightPerNode: 2}, queueTimeout)
	take := func(node string) (release func(), over Excess) { return l.AdmitNode(t.Context(), node) }
	ofX, _ := take("x")
	take("x")
	for _, row := range []struct {
		name  string
		admit func() (func(), Excess)
		want  Excess
	}{
		{"a node within its bound is in", func() (func(), Excess) { return take("y") }, WithinLimits},
		{"a node over its own bound is out", func() (func(), Excess) { return take("x") }, NodeInFlight},
		{"a node within its bound meets the bound of all", func() (func(), Excess) { return take("y") }, AllInFlight},
		{"others meet the bound of all", func() (func(), Excess) { return l.Admit(t.Context()) }, AllInFlight},
	} {
		started := time.Now()
		if _, over := row.admit(); over != row.want {
			t.Errorf("%s: over %q, want %q", row.name, over, row.want)
		}
		if waited := time.Since(started); (waited == queueTimeout) != (row.want != WithinLimits) {
			t.Errorf("%s: after %v", row.name, waited)
		}
	}
	time.AfterFunc(queueTimeout/2, ofX)
	if _, over := take("x"); over != WithinLimits {
		t.Errorf("a place that is given back in time is not taken: over %q", over)
	}
	if taken, nodes := l.Held(); taken != 3 || nodes != 2 {
		t.Errorf("%d places taken by %d nodes, want 3 by 2", taken, nodes)
	}
}

// A caller that disconnected does not wait for a place, and leaves none taken.
func TestDisconnectedCallerTakesNoPlace(t *testing.T) {
	l := NewLimiter(Limits{InFlight: 1, InFlightPerNode: 1}, time.Hour)
	release, _ := l.Admit(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, over := l.AdmitNode(ctx, "x"); over != AllInFlight {
		t.Errorf("over %q, want %q", over, AllInFlight)
	}
	release()
	if taken, nodes := l.Held(); taken+nodes != 0 {
		t.Errorf("%d places taken by %d nodes, want none", taken, nodes)
	}
}

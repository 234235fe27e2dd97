// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// profileListing fills a graph as the program does, in this process, where it can
// be profiled, and says what the heap holds when there is most in it. What this
// process holds besides is little.
func (p *controlPlane) profileListing(ctx context.Context) (report.Profile, error) {
	profile := report.Profile{Title: "the heap while listing, when there was most in it"}
	g := graph.New(graph.Options{Ended: rules.Enforce, Unusable: rules.Enforce, Unowned: rules.Enforce})
	filling := graphsync.New(p.client, g, graphsync.Options{Nodes: true, CertificateSigningRequests: true, PersistentVolumeClaims: true})
	stop := inBackground(ctx, filling.Run)
	defer stop()
	var most bytes.Buffer
	var size uint64
	for !filling.HasSynced() {
		select {
		case <-ctx.Done():
			return profile, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
		var stats runtime.MemStats
		if runtime.ReadMemStats(&stats); stats.HeapAlloc <= size {
			continue
		}
		// A heap profile is of the last collection.
		runtime.GC()
		size = stats.HeapAlloc
		most.Reset()
		if err := pprof.Lookup("heap").WriteTo(&most, 0); err != nil {
			return profile, fmt.Errorf("profiling the heap: %w", err)
		}
	}
	var err error
	profile.Text, err = report.TopOf(&most, "inuse_space")
	return profile, err
}

// inBackground runs something until stop, which waits for it.
func inBackground(ctx context.Context, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { run(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

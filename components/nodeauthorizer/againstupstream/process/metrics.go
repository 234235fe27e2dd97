// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"strings"
)

// mustKnow fails unless the graph has all pods: a view that is too small would be
// fast and cheap to keep.
func (a *authorizer) mustKnow(ctx context.Context, pods int) error {
	values, err := a.health.Metrics(ctx)
	if err != nil {
		return err
	}
	if known := values[`bulkhead_graph_objects{kind="pod"}`]; int(known) != pods {
		return fmt.Errorf("the node-authorizer knows %.0f pods of %d", known, pods)
	}
	return nil
}

// explainMemory says what the Go runtime does with the memory.
func (a *program) explainMemory(ctx context.Context) (string, error) {
	values, err := a.health.Metrics(ctx)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, name := range []string{
		"process_resident_memory_bytes", "go_memstats_sys_bytes", "go_memstats_heap_sys_bytes", "go_memstats_heap_released_bytes",
		"go_memstats_heap_inuse_bytes", "go_memstats_heap_alloc_bytes", "go_memstats_next_gc_bytes", "go_memstats_stack_inuse_bytes", "go_goroutines",
	} {
		fmt.Fprintf(&out, "%-36s %.1f\n", name, values[name]/scaleOf(name))
	}
	return out.String(), nil
}

// scaleOf shows bytes as MB.
func scaleOf(name string) float64 {
	if strings.HasSuffix(name, "_bytes") {
		return 1e6
	}
	return 1
}

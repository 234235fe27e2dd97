// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

// onePod answers lists with one pod.
func onePod(ctx context.Context, c call) (runtime.Object, error) {
	if c.node == "" {
		return both(ctx, c)
	}
	return &corev1.PodList{Items: make([]corev1.Pod, 1)}, nil
}

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewKubeRegistry()
		s := &server{answer: after(10*time.Millisecond, onePod)}
		r := New(Config{Client: s.client(t), View: &folded{}, Registry: registry})
		secret(t.Context(), r, "n1", "x")
		attachment(t.Context(), r, "n1", "x")
		go secret(t.Context(), r, "n2", "first")
		synctest.Wait()
		askEach(100, func(name string) string { return secret(t.Context(), r, "n2", name) })
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 3 {
			go secret(ctx, r, "n3", fmt.Sprint(i))
		}
		synctest.Wait()
		compare := func(want string, names ...string) {
			t.Helper()
			if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
				t.Error(err)
			}
		}
		compare(`
# HELP bulkhead_live_read_waiting [ALPHA] Requests that wait for a live read now.
# TYPE bulkhead_live_read_waiting gauge
bulkhead_live_read_waiting 3
`, "bulkhead_live_read_waiting")
		cancel()
		time.Sleep(3 * time.Second)
		compare(`
# HELP bulkhead_live_read_found_total [ALPHA] Live reads that returned something `+
			`which the watch had yet to show, by resource.
# TYPE bulkhead_live_read_found_total counter
bulkhead_live_read_found_total{relation="pods"} 4
# HELP bulkhead_live_read_waiting [ALPHA] Requests that wait for a live read now.
# TYPE bulkhead_live_read_waiting gauge
bulkhead_live_read_waiting 0
# HELP bulkhead_live_reads_refused_total [ALPHA] Requests for which nothing could be confirmed `+
			`by a live read, by reason.
# TYPE bulkhead_live_reads_refused_total counter
bulkhead_live_reads_refused_total{reason="node-budget"} 1
bulkhead_live_reads_refused_total{reason="withdrawn"} 3
# HELP bulkhead_live_reads_total [ALPHA] Reads from the API server before a refusal, `+
			`by resource and outcome (ok, not-found, no-answer, failed, too-many, incomparable).
# TYPE bulkhead_live_reads_total counter
bulkhead_live_reads_total{outcome="not-found",relation="volumeattachments"} 1
bulkhead_live_reads_total{outcome="ok",relation="pods"} 4
`, "bulkhead_live_read_found_total", "bulkhead_live_read_waiting",
			"bulkhead_live_reads_refused_total", "bulkhead_live_reads_total")
	})
}

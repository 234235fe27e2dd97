// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewKubeRegistry()
		a := New(Config[string]{
			Name: "test", Registry: registry, Entries: 10, Bytes: 1000, InFlight: 1,
			Keep: func(v string) (time.Duration, int) { return time.Minute, len(v) },
		})
		s := &answers{after: time.Second}
		go func() { _, _ = answer(t.Context(), a, s.question(1)) }()
		synctest.Wait()
		go func() { _, _ = answer(t.Context(), a, s.question(1)) }()
		if _, err := answer(t.Context(), a, s.question(2)); err != ErrBusy { //nolint:errorlint // it is not wrapped
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		_, _ = answer(t.Context(), a, s.question(1))
		_, _ = answer(t.Context(), a,
			Query[string]{Key: keyFor(3),
				Ask: func(context.Context) (string, error) { return "", apierrors.NewBadRequest("x") }})
		_, _ = answer(t.Context(), a, Query[string]{Key: keyFor(4), Admit: func() error { return ErrBusy }})
		want := `
# HELP bulkhead_kubelet_test_answers_total [ALPHA] Queries, by the source of the answer: ` +
			`cache, shared (a review in flight), review, refused (a limit denied the review).
# TYPE bulkhead_kubelet_test_answers_total counter
bulkhead_kubelet_test_answers_total{source="cache"} 1
bulkhead_kubelet_test_answers_total{source="refused"} 1
bulkhead_kubelet_test_answers_total{source="review"} 3
bulkhead_kubelet_test_answers_total{source="shared"} 1
# HELP bulkhead_kubelet_test_reviews_total [ALPHA] Attempts of reviews at the API server, by outcome: ` +
			`answered, failed, not-sent (the queue was full, or the callers were gone).
# TYPE bulkhead_kubelet_test_reviews_total counter
bulkhead_kubelet_test_reviews_total{outcome="answered"} 1
bulkhead_kubelet_test_reviews_total{outcome="failed"} 1
bulkhead_kubelet_test_reviews_total{outcome="not-sent"} 1
# HELP bulkhead_kubelet_test_held_answers [ALPHA] Answers in the cache, also expired ones.
# TYPE bulkhead_kubelet_test_held_answers gauge
bulkhead_kubelet_test_held_answers 1
`
		names := []string{"bulkhead_kubelet_test_answers_total", "bulkhead_kubelet_test_reviews_total",
			"bulkhead_kubelet_test_held_answers"}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reviewclient

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The errors and attempts are those of k8s.io/apiserver/pkg/util/webhook.
func TestTransientErrorsAreRetried(t *testing.T) {
	resource := schema.GroupResource{Resource: "x"}
	for _, row := range []struct {
		name     string
		err      error
		attempts int64
	}{
		{"an answer", nil, 1},
		{"no right", apierrors.NewForbidden(resource, "", nil), 1},
		{"no such API", apierrors.NewNotFound(resource, ""), 1},
		{"a bad request", apierrors.NewBadRequest("x"), 1},
		{"cannot connect", syscall.ECONNREFUSED, 1},
		{"a reset connection", syscall.ECONNRESET, 5},
		{"an internal error", apierrors.NewInternalError(errors.New("x")), 5},
		{"a time out", apierrors.NewTimeoutError("x", 0), 5},
		{"too many requests", apierrors.NewTooManyRequests("x", 1), 5},
		{"server with Retry-After",
			apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "x", resource, "", "", 1, true), 5},
		{"server without Retry-After", apierrors.NewServiceUnavailable("x"), 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, s := newClient(Config[string]{}), &answers{err: row.err}
				start := time.Now()
				_, err := answer(t.Context(), a, s.question(1))
				if !errors.Is(err, row.err) || s.asked.Load() != row.attempts {
					t.Errorf("%d attempts end in %v, want %d", s.asked.Load(), err, row.attempts)
				}
				least, most := time.Duration(0), time.Duration(0)
				if row.attempts == 5 {
					least, most = 4062*time.Millisecond, 4876*time.Millisecond
				}
				if took := time.Since(start); took < least || took > most {
					t.Errorf("took %v, want %v to %v", took, least, most)
				}
			})
		})
	}
}

func TestAttemptsStayWithinTheTimeOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{}), &answers{err: apierrors.NewInternalError(errors.New("x"))}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := answer(ctx, a, s.question(1)); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(start) != time.Second {
			t.Errorf("ends in %v after %v", err, time.Since(start))
		}
		a.Wait()
		if s.asked.Load() != 2 {
			t.Errorf("%d attempts, want 2", s.asked.Load())
		}
	})
}

func TestEveryAttemptIsAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{}), &answers{err: apierrors.NewInternalError(errors.New("x"))}
		left := 3
		q := s.question(1)
		q.Admit = func() error {
			if left--; left < 0 {
				return errors.New("no more")
			}
			return nil
		}
		if _, err := answer(t.Context(), a, q); !errors.Is(err, s.err) || s.asked.Load() != 3 {
			t.Errorf("%d attempts end in %v, want 3", s.asked.Load(), err)
		}
		if _, err := answer(t.Context(), a, q); err == nil || err.Error() != "no more" || s.asked.Load() != 3 {
			t.Errorf("the next is answered %v", err)
		}
	})
}

func TestFailuresAreNotCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{}), &answers{err: apierrors.NewBadRequest("x")}
		if _, err := answer(t.Context(), a, s.question(1)); err == nil {
			t.Error("no error")
		}
		s.err = nil
		if got, err := answer(t.Context(), a, s.question(1)); got != "yes" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestNoCacheResultsAreNotCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newClient(Config[string]{}), &answers{}
		q := s.question(1)
		q.NoCache = true
		for range 3 {
			if got, err := answer(t.Context(), a, q); got != "yes" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		}
		if s.asked.Load() != 3 {
			t.Errorf("%d reviews", s.asked.Load())
		}
	})
}

func TestAPanicIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newClient(Config[string]{})
		q := Query[string]{Key: keyFor(1), Ask: func(context.Context) (string, error) { panic("odd") }}
		if got, err := answer(t.Context(), a, q); err == nil || got != "" {
			t.Errorf("got %q, %v", got, err)
		}
		if len(a.queues[false].slots) != 0 || len(a.calls) != 0 {
			t.Error("something is left")
		}
	})
}

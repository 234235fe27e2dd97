// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// asker asks after a delay and records the answer.
type asker struct {
	after  time.Duration
	answer int
	err    error
}

// ask lets all askers ask the same question. It returns when each call began. A call takes one
// second and returns its number.
func ask(t *testing.T, f *flights, askers []*asker) (began []time.Duration) {
	t.Helper()
	start := time.Now()
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, a := range askers {
		group.Go(func() {
			time.Sleep(a.after)
			answer, err := f.do(t.Context(), question{name: "x"}, func(context.Context) (any, error) {
				mu.Lock()
				began = append(began, time.Since(start))
				number := len(began)
				mu.Unlock()
				time.Sleep(time.Second)
				return number, nil
			})
			a.answer, _ = answer.(int)
			a.err = err
		})
	}
	group.Wait()
	synctest.Wait()
	if len(f.calls) > 0 {
		t.Errorf("%d lanes are left", len(f.calls))
	}
	return began
}

func TestCallsAreSharedOnlyByEarlierCallers(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for _, tt := range []struct {
		name  string
		asked []time.Duration
		// calls are the start times of the calls. answers has the number of the call that answers
		// each asker.
		calls   []time.Duration
		answers []int
	}{
		{"single caller", []time.Duration{0}, []time.Duration{0}, []int{1}},
		{"caller during a call gets the next one", []time.Duration{0, 500 * ms}, []time.Duration{0, s},
			[]int{1, 2}},
		{"waiting callers share one call",
			[]time.Duration{0, 1 * ms, 500 * ms, 999 * ms}, []time.Duration{0, s}, []int{1, 2, 2, 2}},
		{"after it the third is made", []time.Duration{0, 500 * ms, 1500 * ms}, []time.Duration{0, s, 2 * s}, []int{1, 2, 3}},
		{"caller after a call starts a new one", []time.Duration{0, 1001 * ms}, []time.Duration{0, 1001 * ms}, []int{1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var askers []*asker
				for _, after := range tt.asked {
					askers = append(askers, &asker{after: after})
				}
				calls := ask(t, &flights{}, askers)
				var got []int
				for _, a := range askers {
					got = append(got, a.answer)
				}
				if diff := cmp.Diff(tt.answers, got); diff != "" {
					t.Errorf("answers (-want +got)\n%s", diff)
				}
				if diff := cmp.Diff(tt.calls, calls); diff != "" {
					t.Errorf("calls (-want +got)\n%s", diff)
				}
			})
		})
	}
}

// In any order of events, no caller gets an answer from a call that began before it asked.
func TestNoAnswerIsOlderThanItsQuestion(t *testing.T) {
	var f flights
	var now atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 500 {
				asked := now.Add(1)
				answer, err := f.do(t.Context(), question{name: "x"}, func(context.Context) (any, error) { return now.Load(), nil })
				if seen, _ := answer.(int64); err != nil || seen < asked {
					t.Errorf("asked at %d, answered from %v (%v)", asked, answer, err)
				}
			}
		})
	}
	group.Wait()
}

func TestCanceledCallerDoesNotCancelTheSharedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flights
		left := errors.New("left")
		hasty, leave := context.WithCancelCause(t.Context())
		slow := func(ctx context.Context) (any, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second):
				return 1, nil
			}
		}
		errs := make(chan error, 2)
		go func() { _, err := f.do(t.Context(), question{}, slow); _ = err }()
		synctest.Wait()
		// Both callers wait for the second call. The caller that leaves early has created it.
		go func() { _, err := f.do(hasty, question{}, slow); errs <- err }()
		synctest.Wait()
		go func() { _, err := f.do(t.Context(), question{}, slow); errs <- err }()
		synctest.Wait()
		leave(left)
		if err := <-errs; !errors.Is(err, left) {
			t.Errorf("who left got error %v", err)
		}
		if err := <-errs; err != nil {
			t.Errorf("who stayed got error %v", err)
		}
	})
}

func TestCallWithoutCallersIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flights
		var calls, broken int
		c := func(ctx context.Context) (any, error) {
			calls++
			<-ctx.Done()
			broken++
			return nil, ctx.Err()
		}
		// The second call never begins, because no caller waits for it when the first ends.
		for _, waits := range []time.Duration{time.Second, time.Second / 2} {
			ctx, cancel := context.WithTimeout(t.Context(), waits)
			defer cancel()
			go func() { _, _ = f.do(ctx, question{}, c) }()
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if calls != 1 || broken != 1 || len(f.calls) != 0 {
			t.Errorf("%d calls, %d broken off, %d lanes left", calls, broken, len(f.calls))
		}
	})
}

func TestAPanicIsAnError(t *testing.T) {
	var f flights
	_, err := f.do(t.Context(), question{}, func(context.Context) (any, error) { panic("fault") })
	if err == nil || !strings.Contains(err.Error(), "panic: fault") {
		t.Errorf("error %v", err)
	}
	if answer, err := f.do(t.Context(), question{}, func(context.Context) (any, error) { return 1, nil }); answer != 1 ||
		err != nil {
		t.Errorf("afterwards: %v, %v", answer, err)
	}
}

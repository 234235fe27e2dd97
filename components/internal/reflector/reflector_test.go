// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// server is an API server that may be unavailable. Its calls then return the errors list and watch.
// It has one pod.
type server struct {
	back        atomic.Bool
	list, watch error
	// timeouts are the timeouts of the accepted watches.
	timeouts []int64
}

func (s *server) source() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			if s.list != nil && !s.back.Load() {
				return nil, s.list
			}
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"},
				Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "p"}}}}, nil
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if s.watch != nil && !s.back.Load() {
				return nil, s.watch
			}
			if options.TimeoutSeconds != nil {
				s.timeouts = append(s.timeouts, *options.TimeoutSeconds)
			}
			return watch.NewFake(), nil
		},
	}
}

var errRefused = fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED)

// A server that was unavailable for a long time, or often, gets a request soon after it is back.
func TestReconnectSoonAfterAnOutage(t *testing.T) {
	const soon = 6 * time.Second
	for name, s := range map[string]*server{
		"connection refused":        {list: errRefused, watch: errRefused},
		"watch: connection refused": {watch: errRefused},
		"list: forbidden":           {list: errors.New("forbidden")},
		"watch: forbidden":          {watch: errors.New("forbidden")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := cache.NewStore(cache.MetaNamespaceKeyFunc)
				var heard atomic.Bool
				ctx, stop := context.WithCancel(t.Context())
				go Resource{
					Name: "pods", Example: &corev1.Pod{}, Source: s.source(), Store: store, Longest: time.Hour,
					Heard: func() { heard.Store(true) }, Failed: func(context.Context, error) time.Duration { return 0 },
				}.Run(ctx, fake.NewClientset())
				time.Sleep(10 * time.Minute)
				if heard.Load() {
					t.Error("heard of a server that is away")
				}
				s.back.Store(true)
				time.Sleep(soon)
				synctest.Wait()
				if !heard.Load() || len(store.List()) != 1 {
					t.Errorf("%v after the server is back: heard of it: %v, %d objects", soon, heard.Load(), len(store.List()))
				}
				stop()
				synctest.Wait()
			})
		})
	}
}

// There is a pause between the attempts while a server is unavailable.
func TestAServerThatIsAwayIsAskedNowAndThen(t *testing.T) {
	for name, tc := range map[string]struct {
		least    time.Duration
		min, max int
	}{
		// The delays rise to 3 to 6 s. Every two minutes they start again with shorter ones.
		"as it is":                     {0, 100, 220},
		"one that is to be left alone": {time.Minute, 9, 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failures := 0
				ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
				defer stop()
				Resource{
					Name: "pods", Example: &corev1.Pod{}, Source: (&server{list: errRefused, watch: errRefused}).source(),
					Store: cache.NewStore(cache.MetaNamespaceKeyFunc), Longest: time.Hour, Heard: func() {},
					Failed: func(context.Context, error) time.Duration { failures++; return tc.least },
				}.Run(ctx, fake.NewClientset())
				if failures < tc.min || failures > tc.max {
					t.Errorf("asked %d times in ten minutes, want %d to %d", failures, tc.min, tc.max)
				}
			})
		})
	}
}

// A watch that begins with a list does not call Heard, because the list may never complete.
func TestIncompleteWatchListDoesNotCallHeard(t *testing.T) {
	yes, s, heard := true, &server{}, 0
	source := Resource{Source: s.source(), Heard: func() { heard++ }}.renewed()
	for _, tc := range []struct {
		options metav1.ListOptions
		heard   int
	}{{metav1.ListOptions{SendInitialEvents: &yes}, 0}, {metav1.ListOptions{}, 1}} {
		events, err := source.WatchFuncWithContext(t.Context(), tc.options)
		if err != nil {
			t.Fatal(err)
		}
		events.Stop()
		if heard != tc.heard {
			t.Errorf("heard %d times after a watch with %v, want %d", heard, tc.options, tc.heard)
		}
	}
}

func TestWatchesEnd(t *testing.T) {
	for longest, want := range map[time.Duration]int64{0: 2, time.Second: 2, 90500 * time.Millisecond: 90} {
		s := &server{}
		events, err := Resource{Source: s.source(), Longest: longest,
			Heard: func() {}}.renewed().WatchFuncWithContext(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		events.Stop()
		if len(s.timeouts) != 1 || s.timeouts[0] != want {
			t.Errorf("watches that may last %v are asked for with %v seconds, want %d", longest, s.timeouts, want)
		}
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

const (
	maxAge  = 3 * time.Minute
	noView  = "has not yet seen the whole cluster"
	oldView = "has a stale view: it has received nothing about pods for more than 3m0s"
)

// timed makes the server end every watch at the client's timeout, as an API server does. The fake
// server never ends a watch.
func timed(client *fake.Clientset) {
	client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewRaceFreeFake()
		asked, _ := action.(clienttesting.WatchActionImpl)
		time.AfterFunc(time.Duration(*asked.ListOptions.TimeoutSeconds)*time.Second, w.Stop)
		return true, w, nil
	})
}

// forbidding makes the server refuse list and watch of pods while the returned value is true.
func forbidding(client *fake.Clientset) *atomic.Bool {
	var forbidden atomic.Bool
	refuse := func() error {
		if !forbidden.Load() {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: Pods}, "", errors.New("no right"))
	}
	failing(client, Pods, refuse)
	client.PrependWatchReactor(Pods, func(clienttesting.Action) (bool, watch.Interface, error) {
		err := refuse()
		return err != nil, nil, err
	})
	return &forbidden
}

func expectUnready(t *testing.T, s *Sync, want, when string) {
	t.Helper()
	synctest.Wait()
	if got := s.Unready(); got != want {
		t.Errorf("%s: unready because it %q, want %q", when, got, want)
	}
}

// node-authorizer can lose its RBAC permissions, and its certificate can expire. After that, the
// last view must not be used for ever.
func TestAViewThatIsNotRenewedGoesStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(oneOfEach()...)
		timed(client)
		forbidden := forbidding(client)
		forbidden.Store(true)
		s, g := start(t, client, Options{MaxAge: maxAge})
		expectUnready(t, s, noView, "before the first list")
		forbidden.Store(false)
		time.Sleep(longEnough)
		expectUnready(t, s, "", "after the list")
		forbidden.Store(true)
		time.Sleep(maxAge / 2)
		expectUnready(t, s, "", "shortly after the right to read was lost")
		time.Sleep(maxAge)
		expectUnready(t, s, oldView, "long after the right to read was lost")
		if !g.Reaches("n1", graph.Secret, "ns", "secret-of-x") {
			t.Error("the graph lost what it had")
		}
		forbidden.Store(false)
		time.Sleep(longEnough)
		expectUnready(t, s, "", "after the right was given back")
	})
}

func TestAViewIsFreshAgainOnceSomethingIsHeard(t *testing.T) {
	expired := &apierrors.NewResourceExpired("too old").ErrStatus
	for _, row := range []struct {
		name  string
		event func(*watch.RaceFreeFakeWatcher)
	}{
		{"an event", func(w *watch.RaceFreeFakeWatcher) { w.Add(podOn("n1", "y")) }},
		{"a bookmark", func(w *watch.RaceFreeFakeWatcher) {
			w.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}})
		}},
		{"a list", func(w *watch.RaceFreeFakeWatcher) { w.Error(expired) }},
		{"a watch that goes on", func(w *watch.RaceFreeFakeWatcher) { w.Stop() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(oneOfEach()...)
				timed(client)
				silent := watch.NewRaceFreeFake()
				var lost atomic.Bool
				client.PrependWatchReactor(Pods, func(clienttesting.Action) (bool, watch.Interface, error) {
					return !lost.Swap(true), silent, nil
				})
				s, _ := start(t, client, Options{MaxAge: maxAge})
				time.Sleep(maxAge)
				expectUnready(t, s, "", "after as much silence as may be")
				time.Sleep(time.Second)
				expectUnready(t, s, oldView, "after more")
				row.event(silent)
				time.Sleep(5 * time.Second) // a list is not retried immediately
				expectUnready(t, s, "", "after "+row.name)
			})
		})
	}
}

// A healthy server may have no events for hours, send no bookmarks, or not serve an API at all.
// None of this makes the view stale.
func TestASilentServerIsNotStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		failing(client, ResourceSlices, notServed)
		timed(client)
		s, _ := start(t, client, Options{MaxAge: maxAge})
		time.Sleep(longEnough)
		for range 100 {
			expectUnready(t, s, "", "in silence")
			time.Sleep(time.Minute)
		}
	})
}

func TestMaxAgeHasADefault(t *testing.T) {
	if got := New(fake.NewClientset(), graph.New(graph.Options{}), Options{}).maxAge; got != DefaultMaxAge {
		t.Errorf("max age %v, want %v", got, DefaultMaxAge)
	}
}

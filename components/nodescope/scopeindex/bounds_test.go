// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"fmt"
	"sync"
	"testing"
)

func TestUnionsAreBounded(t *testing.T) {
	w := newWorld()
	w.SetAccount(serviceAccount("agent", none, none))
	for i := range maxUnion + 1 {
		a, _ := w.Account("ns", "agent")
		if a.OfPods.IsEverything() {
			t.Fatalf("%d values hold on everything", i)
		}
		w.set(pod(fmt.Sprintf("p%d", i), fmt.Sprint(i), fmt.Sprintf("r%d", i)))
	}
	if a, _ := w.Account("ns", "agent"); !a.OfPods.IsEverything() {
		t.Error("more values than are put together hold on less")
	}
}

// A reader never finds a pod in the graph without its annotation, even during writes.
func TestReadersAndWriters(t *testing.T) {
	w := newWorld()
	w.SetAccount(serviceAccount("agent", none, none))
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for i := range 2000 {
			w.set(pod("p", fmt.Sprint(i), "pods"))
			if i%3 == 0 {
				w.remove("p")
			}
			w.SetAccount(serviceAccount("agent", fmt.Sprintf("r%d", i), none))
		}
	})
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if p, known := w.Pod("ns", "p"); known && !p.Scope.Covers(pods) {
					t.Errorf("seen without its annotation: %+v", p)
					return
				}
				if _, known := w.Account("ns", "agent"); !known {
					t.Error("the account is not known")
					return
				}
			}
		})
	}
	group.Wait()
}

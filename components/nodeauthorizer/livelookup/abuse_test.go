// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
)

// No object can have such a name. So there is no read and no held question, and the call returns no
// failure of the API server.
func TestNamesThatCannotBeAreNotRead(t *testing.T) {
	bubble(t, both, func(t *testing.T, s *server, r *Reader) {
		for _, name := range []string{"a/b", "..", "a%b", "../secrets/x", strings.Repeat("x", 254)} {
			for _, why := range []string{
				r.Refresh(t.Context(), "n1", graph.VolumeAttachment, "", name),
				r.Refresh(t.Context(), "n1", graph.Secret, name, "x"),
				r.Refresh(t.Context(), name, graph.Secret, "ns", "x"),
				r.RefreshNode(t.Context(), name),
			} {
				if why != "" {
					t.Errorf("%.20q: %q", name, why)
				}
			}
		}
		if got, negativeCache := len(s.seen()), len(r.negativeCache.questions.Keys()); got > 0 || negativeCache > 0 {
			t.Errorf("%d reads, %d held", got, negativeCache)
		}
		r.Refresh(t.Context(), "n1", graph.VolumeAttachment, "", strings.Repeat("x", 253))
		if got := len(s.seen()); got != 1 {
			t.Errorf("a name as long as can be: %d reads, want 1", got)
		}
	})
}

// If too many callers wait for reads by name, a question about a claim still gets the list of the
// node's pods.
func TestFullGetQueueDoesNotBlockLists(t *testing.T) {
	bubble(t, after(300*time.Millisecond, both), func(t *testing.T, s *server, r *Reader) {
		var asking sync.WaitGroup
		for i := range DefaultLimits().WaitingForGets {
			asking.Go(func() { attachment(t.Context(), r, "n1", fmt.Sprint(i)) })
		}
		time.Sleep(time.Millisecond)
		why := r.Refresh(t.Context(), "n1", graph.PersistentVolumeClaim, "ns", "x")
		if why != getBudget.text() {
			t.Errorf("why %q, want that the claim was not read", why)
		}
		lists := 0
		for _, c := range s.seen() {
			if c.node == "n1" {
				lists++
			}
		}
		if lists != 1 {
			t.Errorf("%d lists of the pods, want 1", lists)
		}
		asking.Wait()
	})
}

// A node may have any number of mirror pods.
func TestPodsAreReadInPages(t *testing.T) {
	for _, row := range []struct {
		pages int
		want  string
	}{{1, ""}, {3, ""}, {maxPages, ""}, {maxPages + 1, tooMany.text()}} {
		pages := 0
		answer := func(_ context.Context, c call) (runtime.Object, error) {
			pages++
			list := &corev1.PodList{Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(pages)}}}}
			if pages < row.pages {
				list.Continue = "more"
			}
			return list, nil
		}
		bubble(t, answer, func(t *testing.T, s *server, r *Reader) {
			if why := secret(t.Context(), r, "n1", "x"); why != row.want {
				t.Errorf("%d pages: %q, want %q", row.pages, why, row.want)
			}
			if got, want := r.view.(*folded).objects[graphsync.Pods], min(row.pages, maxPages); got != want {
				t.Errorf("%d pods were folded, want %d", got, want)
			}
		})
	}
}

type panicking struct{}

func (panicking) Watches(string) bool                         { return true }
func (panicking) Fold(string, ...runtime.Object) (int, error) { panic("a fault") }

func TestAPanicIsAFailedRead(t *testing.T) {
	s := &server{answer: noPods}
	r := New(Config{Client: s.client(t), View: panicking{}, Registry: metrics.NewKubeRegistry()})
	if why := secret(t.Context(), r, "n1", "x"); why != failed.text() {
		t.Errorf("%q", why)
	}
	r.Wait()
}

// A log line is short and has no line breaks for any input, and no read waits for the log.
func TestLiveLookupErrors(t *testing.T) {
	var lines []string
	hang, written := make(chan struct{}), make(chan struct{})
	logger := funcr.New(func(_, args string) {
		lines = append(lines, args)
		close(written)
		<-hang
	}, funcr.Options{})
	ctx := klog.NewContext(t.Context(), logger)
	s := &server{answer: func(context.Context, call) (runtime.Object, error) {
		return nil, errors.New("broken\nE1121 forged" + strings.Repeat("y", 30<<10))
	}}
	r := newReader(t, s, &folded{})
	for i := range 2 * DefaultLimits().InFlight {
		if why := secret(ctx, r, fmt.Sprint("n", i), "x"); why != failed.text() {
			t.Fatalf("%q", why)
		}
	}
	<-written
	if len(lines) != 1 || len(lines[0]) > 600 || strings.Contains(lines[0], `\n`) {
		t.Errorf("%d lines; the first has %d bytes: %.300s", len(lines), len(lines[0]), lines[0])
	}
	close(hang)
	r.Wait()
}

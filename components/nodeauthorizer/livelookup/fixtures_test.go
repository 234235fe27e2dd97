// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
)

// call is a request that has reached the server.
type call struct {
	path string
	node string
	at   time.Time
}

// server answers the calls of a real clientset. The fake clientset serializes its calls, so a test
// could not see which calls are in flight together.
type server struct {
	// answer must be safe for concurrent use.
	answer func(ctx context.Context, c call) (runtime.Object, error)

	mu       sync.Mutex
	calls    []call
	inAir    int
	mostAir  int
	perLane  map[string]int
	mostLane int
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	c := call{path: req.URL.Path, at: time.Now(),
		node: strings.TrimPrefix(req.URL.Query().Get("fieldSelector"), "spec.nodeName=")}
	readQueue := c.node
	if readQueue == "" {
		readQueue = c.path[strings.LastIndex(c.path, "/")+1:]
		readQueue, _, _ = strings.Cut(readQueue, ".")
	} else {
		readQueue += "'s pods"
	}
	s.enter(c, readQueue)
	defer s.exit(readQueue)
	object, err := s.answer(req.Context(), c)
	if err != nil {
		if answered := apierrors.APIStatus(nil); errors.As(err, &answered) {
			status := answered.Status()
			return respond(int(status.Code), &status)
		}
		return nil, err
	}
	return respond(http.StatusOK, object)
}

func (s *server) enter(c call, readQueue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.perLane == nil {
		s.perLane = map[string]int{}
	}
	s.calls = append(s.calls, c)
	s.inAir++
	s.perLane[readQueue]++
	s.mostAir, s.mostLane = max(s.mostAir, s.inAir), max(s.mostLane, s.perLane[readQueue])
}

func (s *server) exit(readQueue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inAir--
	s.perLane[readQueue]--
}

func (s *server) seen() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func respond(code int, object runtime.Object) (*http.Response, error) {
	body, err := runtime.Encode(scheme.Codecs.LegacyCodec(scheme.Scheme.PrioritizedVersionsAllGroups()...), object)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(bytes.NewReader(body)),
	}, nil
}

func (s *server) client(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: "https://test.invalid", QPS: -1},
		&http.Client{Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// folded records what was passed to the view. It reports everything as news.
type folded struct {
	mu      sync.Mutex
	objects map[string]int
	err     error
	unused  string
}

func (f *folded) Watches(resource string) bool { return resource != f.unused }

func (f *folded) Fold(resource string, objects ...runtime.Object) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.objects == nil {
		f.objects = map[string]int{}
	}
	f.objects[resource] += len(objects)
	return len(objects), f.err
}

// noPods is the answer of a server without pods.
func noPods(context.Context, call) (runtime.Object, error) { return &corev1.PodList{}, nil }

// after returns an answer function that answers like another, but after a delay.
func after(d time.Duration, answer func(context.Context, call) (runtime.Object, error)) func(context.Context,
	call) (runtime.Object, error) {
	return func(ctx context.Context, c call) (runtime.Object, error) {
		select {
		case <-time.After(d):
			return answer(ctx, c)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func notFound(context.Context, call) (runtime.Object, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{}, "x")
}

// both answers lists with no pods, and reads by name with not found.
func both(ctx context.Context, c call) (runtime.Object, error) {
	if c.node != "" {
		return noPods(ctx, c)
	}
	return notFound(ctx, c)
}

func newReader(t *testing.T, s *server, view View) *Reader {
	t.Helper()
	return New(Config{Client: s.client(t), View: view, Registry: metrics.NewKubeRegistry()})
}

// bubble runs the test in synthetic time. It fails the test if a goroutine or the state of a node
// is left.
func bubble(t *testing.T, answer func(context.Context, call) (runtime.Object, error),
	test func(t *testing.T, s *server, r *Reader)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: answer}
		r := newReader(t, s, &folded{})
		test(t, s, r)
		r.Wait()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.nodes) > 0 {
			t.Errorf("%d nodes are kept when all is over", len(r.nodes))
		}
	})
}

func secret(ctx context.Context, r *Reader, node, name string) string {
	return r.Refresh(ctx, node, graph.Secret, "ns", name)
}

func attachment(ctx context.Context, r *Reader, node, name string) string {
	return r.Refresh(ctx, node, graph.VolumeAttachment, "", node+"."+name)
}

var _ View = (*graphsync.Sync)(nil)

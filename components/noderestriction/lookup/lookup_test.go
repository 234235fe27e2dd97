// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Unix(1_000_000, 0)

// readers returns all methods that read one object by name.
func readers() map[string]func(context.Context, *Cluster, string) (metav1.Object, error) {
	return map[string]func(context.Context, *Cluster, string) (metav1.Object, error){
		"/api/v1/nodes/": func(ctx context.Context, v *Cluster, name string) (metav1.Object, error) {
			return v.Node(ctx, name)
		},
		"/api/v1/namespaces/n/pods/": func(ctx context.Context, v *Cluster, name string) (metav1.Object, error) {
			return v.Pod(ctx, "n", name)
		},
		"/api/v1/namespaces/": func(ctx context.Context, v *Cluster, name string) (metav1.Object, error) {
			return v.Namespace(ctx, name)
		},
		"/api/v1/namespaces/n/serviceaccounts/": func(ctx context.Context, v *Cluster, name string) (metav1.Object, error) {
			return v.ServiceAccount(ctx, "n", name)
		},
		"/api/v1/namespaces/n/persistentvolumeclaims/": func(ctx context.Context, v *Cluster, name string) (metav1.Object,
			error) {
			return v.PersistentVolumeClaim(ctx, "n", name)
		},
		"/api/v1/persistentvolumes/": func(ctx context.Context, v *Cluster, name string) (metav1.Object, error) {
			return v.PersistentVolume(ctx, name)
		},
		"/apis/storage.k8s.io/v1/csidrivers/": func(ctx context.Context, v *Cluster, name string) (metav1.Object, error) {
			return v.CSIDriver(ctx, name)
		},
	}
}

// The reads have no resource version, so they return the current state.
func TestObjectsAreReadByName(t *testing.T) {
	for path, read := range readers() {
		w := newWorld(t, answers(`{"metadata":{"name":"x"}}`))
		got, err := read(t.Context(), w.Cluster, "x")
		if err != nil || got.GetName() != "x" {
			t.Errorf("%s: %v, %v", path, got, err)
		}
		if diff := cmp.Diff([]string{"GET " + path + "x"}, w.api.requests()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
}

// Only a 404 keeps its code. Every other error is about node-restriction's own call, and the caller
// can only retry.
func TestLookupErrors(t *testing.T) {
	for path, read := range readers() {
		for answer, want := range map[string]string{
			"404":        "the server says 404",
			"403":        "cannot look up %s: the server says 403",
			"500":        "cannot look up %s: the server says 500",
			"503":        "cannot look up %s: etcd is away",
			"not JSON":   "cannot look up %s: couldn't get version/kind; json parse error",
			`{"kind":1}`: "cannot look up %s: couldn't get version/kind; json parse error",
		} {
			parts := strings.Split(path, "/")
			if strings.Contains(want, "%s") {
				want = fmt.Sprintf(want, parts[len(parts)-2])
			}
			w := newWorld(t, answers(answer))
			_, err := read(t.Context(), w.Cluster, "x")
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: error %v, want %s", path, err, want)
			}
			var status apierrors.APIStatus
			if isStatus := errors.As(err, &status); isStatus != (answer == "404") || apierrors.IsNotFound(err) != isStatus {
				t.Errorf("%s: %s becomes an error with status %v", path, answer, isStatus)
			}
		}
	}
}

func TestANameThatCannotBeIsNotAskedFor(t *testing.T) {
	for path, read := range readers() {
		for _, name := range []string{"", ".", "..", "a/b", "a%2fb", "../secrets/s", strings.Repeat("a", 254),
			strings.Repeat("a", 1<<20)} {
			w := newWorld(t, answers(`{"metadata":{"name":"x"}}`))
			got, err := read(t.Context(), w.Cluster, name)
			if !apierrors.IsNotFound(err) {
				t.Errorf("%s%.20s: %v, %v", path, name, got, err)
			}
			if asked := w.api.requests(); len(asked) > 0 {
				t.Errorf("%s%.20s: asked %.100q", path, name, asked)
			}
		}
	}
	w := newWorld(t, answers(`{"metadata":{"name":"x"}}`))
	for _, namespace := range []string{"", "..", "a/b"} {
		if _, err := w.Pod(t.Context(), namespace, "x"); !apierrors.IsNotFound(err) || len(w.api.requests()) > 0 {
			t.Errorf("namespace %q: error %v", namespace, err)
		}
	}
}

// silent returns an API server that does not answer before the test ends.
func silent(t *testing.T) *api {
	return &api{answer: func(string) string {
		<-t.Context().Done()
		return "500"
	}}
}

func TestLookupTimesOutAfterASecond(t *testing.T) {
	w := newWorld(t, silent(t))
	// The caller waits longer, so the call ends first also on a busy machine.
	w.lookupTimeout, w.callTimeout = time.Minute, callTimeout
	begun := time.Now()
	_, err := w.Node(t.Context(), "x")
	if want := "cannot look up nodes: the API server has not answered within 1s"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if took := time.Since(begun); took < callTimeout || took > 30*time.Second {
		t.Errorf("after %v", took)
	}
	w.wantLookups(t, `bulkhead_lookups_total{kind="nodes",outcome="no-answer"} 1`+"\n")
}

// If the ctx of the caller ends during a lookup, the error is the cause of that ctx.
func TestTimeoutNamesItsSource(t *testing.T) {
	w := newWorld(t, silent(t))
	w.lookupTimeout, w.callTimeout = lookupTimeout, callTimeout
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, errors.New("the review is over"))
	defer cancel()
	_, err := w.Node(ctx, "x")
	if want := "cannot look up nodes: the review is over"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAQuestionEndsWithItsRequest(t *testing.T) {
	w := newWorld(t, silent(t))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	begun := time.Now()
	if _, err := w.Node(ctx, "x"); err == nil || time.Since(begun) > w.callTimeout/2 {
		t.Errorf("error %v after %v", err, time.Since(begun))
	}
}

func TestLookupsAreCounted(t *testing.T) {
	w := newWorld(t, &api{answer: func(asked string) string {
		switch {
		case strings.HasSuffix(asked, "/gone"):
			return "404"
		case strings.HasSuffix(asked, "/broken"):
			return "403"
		default:
			return `{"metadata":{"name":"x"}}`
		}
	}})
	for _, name := range []string{"x", "x", "gone", "broken", "a/b"} {
		_, _ = w.Node(t.Context(), name)
	}
	_, _ = w.CSIDriver(t.Context(), "x")
	_, _ = w.CSIDriver(t.Context(), "x")
	w.wantLookups(t, `bulkhead_lookups_total{kind="csidrivers",outcome="ok"} 1
bulkhead_lookups_total{kind="csidrivers",outcome="remembered"} 1
bulkhead_lookups_total{kind="nodes",outcome="failed"} 1
bulkhead_lookups_total{kind="nodes",outcome="not-found"} 1
bulkhead_lookups_total{kind="nodes",outcome="ok"} 2
`)
}

// Two hundred requests about one name cause one read after the other, and not one read each.
func TestAFloodAboutOneNameIsFewReads(t *testing.T) {
	const takes, askers = 100 * time.Millisecond, 200
	w := newWorld(t, &api{answer: func(string) string {
		time.Sleep(takes)
		return `{"metadata":{"name":"x"}}`
	}})
	begun := time.Now()
	done := make(chan error)
	for range askers {
		go func() {
			_, err := w.Node(t.Context(), "x")
			done <- err
		}()
	}
	for range askers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if calls, most := len(w.api.requests()), int(time.Since(begun)/takes); calls > most {
		t.Errorf("%d calls, want at most %d", calls, most)
	}
}

func TestCacheAnswersItsPart(t *testing.T) {
	w := newWorld(t, answers("500"))
	if owner, err := w.AddressOwner(t.Context(), "192.0.2.1", "me"); owner != "192.0.2.1 but me" || err != nil {
		t.Errorf("%q, %v", owner, err)
	}
	if got, err := w.History(t.Context(), "me"); got.UID != "1" || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := w.LastReported(t.Context(), "me"); got.KubeletPort != 1 || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestReached(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"answer: reachable", `{"metadata":{"name":"kube-system"}}`, ""},
		{"404: reachable", "404", ""},
		{"403: not reachable", "403", "cannot look up namespaces: the server says 403"},
		{"500: not reachable", "500", "cannot look up namespaces: the server says 500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, answers(tt.answer))
			if got := w.Unready(); got != "has not yet reached the API server" {
				t.Errorf("before: %q", got)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { w.Run(ctx); close(ended) }()
			for w.Unready() == untried {
				time.Sleep(time.Millisecond)
			}
			if got := w.Unready(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			cancel()
			<-ended
			if asked := w.api.requests(); len(asked) == 0 || asked[0] != "GET /api/v1/namespaces/kube-system" {
				t.Errorf("asked %q", asked)
			}
		})
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

func TestLines(t *testing.T) {
	w := start(t, answering("answer"), nil)
	w.tokens.Store("secret-token", "robot")
	client := w.client(w.admin(), true)
	config := w.admin()
	config.Certificates = nil
	without := w.client(config, false)

	w.do(client, http.MethodGet, "/metrics/resource?x=secret-query", nil)
	w.decides(only("get", "stats"))
	w.do(client, http.MethodGet, "/pods", nil)
	w.do(without, http.MethodGet, "/pods",
		func(req *http.Request) { req.Header.Set("Authorization", "Bearer secret-token") })
	w.do(without, http.MethodGet, "/pods",
		func(req *http.Request) { req.Header.Set("Authorization", "Bearer secret-guess") })
	got := w.await(4)
	groups := []string{"team", "system:authenticated"}
	want := []AuditEvent{
		{Stage: "request", ID: 1, User: "admin", Groups: groups, Node: "n", Method: "GET", Path: "/metrics/resource",
			Verb: "get", Subresource: "metrics",
			Decision: "allow", Rule: "KA-METRICS-1", CacheHit: true, Status: 200, BytesOut: 6},
		{Stage: "request", ID: 2, User: "admin", Groups: groups, Node: "n", Method: "GET", Path: "/pods", Verb: "get",
			Subresource: "pods",
			Decision:    "deny", Rule: "KA-POD-1", CacheHit: true, Status: 403, BytesOut: 98,
			Cause: "Forbidden (user=admin, verb=get, resource=nodes, subresource(s)=[pods proxy]) [KA-POD-1]"},
		{Stage: "request", ID: 3, User: "robot", Node: "n", Method: "GET", Path: "/pods", Verb: "get", Subresource: "pods",
			Decision: "deny", Rule: "KA-POD-1", CacheHit: true, Status: 403, BytesOut: 98,
			Cause: "Forbidden (user=robot, verb=get, resource=nodes, subresource(s)=[pods proxy]) [KA-POD-1]"},
		{Stage: "request", ID: 4, Node: "n", Method: "GET", Path: "/pods", Verb: "get", Subresource: "pods",
			Decision: "deny", Rule: "KA-AUTH-1", Status: 401, BytesOut: 25, Cause: "Unauthorized [KA-AUTH-1]"},
	}
	varying := cmpopts.IgnoreFields(AuditEvent{}, "Time", "Source", "Seconds", "BytesOut")
	if diff := cmp.Diff(want, got, varying); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, line := range got {
		if line.Time.IsZero() || line.Seconds <= 0 || !strings.HasPrefix(line.Source, "127.0.0.1:") || line.BytesOut == 0 {
			t.Errorf("line %+v", line)
		}
	}
	if text := w.lines.text.String(); strings.Contains(text, "secret") {
		t.Errorf("something secret in %s", text)
	}
}

// The client of a denied request gets the kubelet's text. The API server's reason is only in the
// audit log.
func TestTheReasonOfADenialIsAudited(t *testing.T) {
	w := start(t, answering("answer"), nil)
	w.decides(func(authorizer.Attributes) (Answer, error) {
		return Answer{Reason: "only of its own node [NS-NODE-3]"}, nil
	})
	answer := w.do(w.client(w.admin(), true), http.MethodGet, "/pods", nil)
	if answer.code != http.StatusForbidden || strings.Contains(answer.body, "NS-NODE-3") {
		t.Errorf("%d %s", answer.code, answer.body)
	}
	if got := w.await(1)[0]; got.Cause != "only of its own node [NS-NODE-3]" || got.Rule != "KA-POD-1" {
		t.Errorf("%+v", got)
	}
}

// stuck blocks every write until the test releases it.
type stuck struct {
	free chan struct{}
	lines
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.free
	return s.lines.Write(p)
}

func (s *stuck) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.text.String(), text)
}

// running returns an audit log that has taken one event and is blocked while it writes that event.
func running(t *testing.T, out io.Writer) (audit *Audit, stop func()) {
	t.Helper()
	audit = NewAudit(out, metrics.NewKubeRegistry())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		audit.Run(ctx)
	}()
	audit.put(&AuditEvent{Path: "/first"}, false)
	gathered()
	return audit, func() {
		cancel()
		<-done
	}
}

// gathered waits until queued events are written, or blocked in a write.
func gathered() {
	time.Sleep(batchDelay)
	synctest.Wait()
}

func (a *Audit) losses(t *testing.T) (passed, refused, written float64) {
	t.Helper()
	for _, one := range []struct {
		counter metrics.CounterMetric
		value   *float64
	}{{a.droppedAllowed, &passed}, {a.droppedDenied, &refused}, {a.droppedWrite, &written}} {
		value, err := testutil.GetCounterMetricValue(one.counter)
		if err != nil {
			t.Fatal(err)
		}
		*one.value = value
	}
	return passed, refused, written
}

// Events of allowed requests have a separate queue. This includes an allowed request whose answer
// from the kubelet the proxy rejects.
func TestAllowedRequestsHaveTheirOwnAuditQueue(t *testing.T) {
	w := start(t, http.RedirectHandler("/elsewhere", http.StatusFound), func(s *settings) { s.waiting = true })
	w.decides(only("get", "pods"))
	client := w.client(w.admin(), true)
	audit := w.handler.config.Audit
	for path, of := range map[string]queue{"/pods": queueAllowed, "/metrics": queueDenied, "/pods//": queueDenied} {
		w.do(client, http.MethodGet, path, nil)
		select {
		case line := <-audit.waiting[of]:
			if line.Path != path || line.Decision != denied {
				t.Errorf("%s has the line %+v", path, line)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s has no line where it should", path)
		}
	}
}

// Ten thousand events of denied requests do not displace an event of an allowed request.
func TestFloodOfDenialsDropsNoOtherEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{free: make(chan struct{})}
		audit, stop := running(t, out)
		const flood = 10_000
		for range flood {
			audit.put(&AuditEvent{Path: "/refused"}, false)
		}
		for range allowedEvents {
			audit.put(&AuditEvent{Path: "/passed"}, true)
		}
		if passed, refused, _ := audit.losses(t); passed != 0 || refused != flood-deniedEvents {
			t.Errorf("%v and %v lost, want none and %d", passed, refused, flood-deniedEvents)
		}
		close(out.free)
		stop()
		if n := out.count("/passed"); n != allowedEvents {
			t.Errorf("%d lines of requests that were let through, want %d", n, allowedEvents)
		}
		if n := out.count("/refused"); n != deniedEvents {
			t.Errorf("%d lines of refusals, want %d", n, deniedEvents)
		}
	})
}

// An allowed request waits until the queue has room for its event. If the wait times out, later
// requests do not wait.
func TestAllowedRequestWaitsForAuditQueueSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{free: make(chan struct{})}
		audit, stop := running(t, out)
		put := func() (took time.Duration) {
			begun := time.Now()
			audit.put(&AuditEvent{Path: "/passed"}, true)
			return time.Since(begun)
		}
		for range allowedEvents {
			if took := put(); took != 0 {
				t.Fatalf("waited for %v although there is room", took)
			}
		}
		if took := put(); took != auditTimeout {
			t.Errorf("waited for %v, want %v", took, auditTimeout)
		}
		if took := put(); took != 0 {
			t.Errorf("waited for %v where nobody is waited for any more", took)
		}
		if passed, _, _ := audit.losses(t); passed != 2 {
			t.Errorf("%v lost, want 2", passed)
		}
		out.free <- struct{}{}
		synctest.Wait()
		for range allowedEvents - len(audit.waiting[queueAllowed]) {
			put()
		}
		waited := make(chan time.Duration)
		go func() { waited <- put() }()
		time.Sleep(auditTimeout / 2)
		close(out.free)
		if took := <-waited; took != auditTimeout/2 {
			t.Errorf("waited for %v, want until there is room", took)
		}
		stop()
		if passed, _, _ := audit.losses(t); passed != 2 {
			t.Errorf("%v lost, want no more than 2", passed)
		}
	})
}

// A pipe that no process reads does not delay the end of the program.
func TestBlockedLogDoesNotDelayShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{free: make(chan struct{})}
		_, stop := running(t, out)
		begun := time.Now()
		stop()
		if took := time.Since(begun); took != flushTimeout {
			t.Errorf("stopped after %v", took)
		}
		close(out.free)
	})
}

// full writes a part and then fails, while it is full.
type full struct {
	full atomic.Bool
	lines
}

func (f *full) Write(p []byte) (int, error) {
	if f.full.Load() {
		n, _ := f.lines.Write(p[:len(p)/2])
		return n, errors.New("no space left on device")
	}
	return f.lines.Write(p)
}

// If the disk was full for a while, the events of that time are lost and counted. Later events are
// written.
func TestWritingFailsForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &full{}
		audit, stop := running(t, out)
		out.full.Store(true)
		for range 3 {
			audit.put(&AuditEvent{Path: "/lost"}, true)
			gathered()
		}
		out.full.Store(false)
		audit.put(&AuditEvent{Path: "/last"}, true)
		stop()
		if _, _, lost := audit.losses(t); lost != 3 {
			t.Errorf("%v lost, want 3", lost)
		}
		all := strings.Split(strings.TrimSpace(out.text.String()), "\n")
		for _, i := range []int{0, len(all) - 1} {
			if got := decodeLines(t, all[i])[0].Path; got != []string{"/first", "/last"}[min(i, 1)] {
				t.Errorf("line %d is of %s", i, got)
			}
		}
	})
}

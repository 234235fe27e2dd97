// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

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

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

// parts keeps each write separate.
type parts struct {
	mu      sync.Mutex
	written []string
}

func (p *parts) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = append(p.written, string(data))
	return len(data), nil
}

func (p *parts) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.written)
}

// pathsOf returns the paths of the events in one write.
func pathsOf(t *testing.T, part string) []string {
	t.Helper()
	var paths []string
	for _, line := range decodeLines(t, part) {
		paths = append(paths, line.Path)
	}
	return paths
}

// Events that arrive within 10 ms are written together, in their order, and not later than after 10
// ms.
func TestLinesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &parts{}
		audit, stop := running(t, out)
		defer stop()
		for i, path := range []string{"/1", "/2", "/3", "/4"} {
			audit.put(&AuditEvent{Path: path}, i%2 == 1)
			time.Sleep(batchDelay / 5)
		}
		synctest.Wait()
		if len(out.all()) != 1 {
			t.Fatalf("written before their time: %q", out.all())
		}
		time.Sleep(batchDelay / 5)
		synctest.Wait()
		if len(out.all()) != 2 {
			t.Fatalf("not written in one part within %v: %q", batchDelay, out.all())
		}
		if diff := cmp.Diff([]string{"/1", "/2", "/3", "/4"}, pathsOf(t, out.all()[1])); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// If many events wait, the writer does not wait for 10 ms. No event is dropped because the queue is
// full.
func TestManyLinesAreNotGatheredFor10ms(t *testing.T) {
	for name, tt := range map[string]struct {
		passed bool
		half   int
	}{"let through": {true, allowedEvents / 2}, "refused": {false, deniedEvents / 2}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := &parts{}
				audit, stop := running(t, out)
				defer stop()
				// The writer takes the first event and then waits for batchDelay.
				audit.put(&AuditEvent{}, tt.passed)
				synctest.Wait()
				for range tt.half - 1 {
					audit.put(&AuditEvent{}, tt.passed)
				}
				synctest.Wait()
				if len(out.all()) != 1 {
					t.Errorf("%d parts are written while there is room", len(out.all())-1)
				}
				audit.put(&AuditEvent{}, tt.passed)
				synctest.Wait()
				if got := strings.Count(strings.Join(out.all()[1:], ""), "\n"); got != tt.half+1 {
					t.Errorf("%d lines are written at once, want %d", got, tt.half+1)
				}
			})
		})
	}
}

// At the end of the program, all events are written without delay.
func TestShutdownFlushesAuditEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &parts{}
		audit, stop := running(t, out)
		audit.put(&AuditEvent{Path: "/refused"}, false)
		audit.put(&AuditEvent{Path: "/passed"}, true)
		begun := time.Now()
		stop()
		if took := time.Since(begun); took != 0 {
			t.Errorf("it takes %v", took)
		}
		if diff := cmp.Diff([]string{"/refused", "/passed"}, pathsOf(t, strings.Join(out.all()[1:], ""))); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// Events of allowed requests are written first if their queue is half full, and only then.
func TestAllowedRequestsAreWrittenFirst(t *testing.T) {
	audit := NewAudit(io.Discard, metrics.NewKubeRegistry())
	audit.put(&AuditEvent{Path: "/refused"}, false)
	for range allowedEvents/2 + 1 {
		audit.put(&AuditEvent{Path: "/passed"}, true)
	}
	var order []string
	for line := audit.next(); line != nil; line = audit.next() {
		if len(order) == 0 || order[len(order)-1] != line.Path {
			order = append(order, line.Path)
		}
	}
	if diff := cmp.Diff([]string{"/passed", "/refused", "/passed"}, order); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// disk is a file on a disk that is full, or that blocks, while the test wants that.
type disk struct {
	mu    sync.Mutex
	full  bool
	block chan struct{}
	text  bytes.Buffer
}

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	block := d.block
	d.mu.Unlock()
	if block != nil {
		<-block
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return 0, errors.New("no space left on device")
	}
	return d.text.Write(p)
}

func (d *disk) set(full bool, block chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full, d.block = full, block
}

func (d *disk) written() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

func TestRecordWaitsUntilTheLineIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		a := NewAudit(d, metrics.NewKubeRegistry())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.Run(ctx); close(ended) }()
		record := func(id uint64, want bool, atMost time.Duration) {
			t.Helper()
			begun := time.Now()
			if got := a.record(&AuditEvent{ID: id}); got != want || time.Since(begun) > atMost {
				t.Errorf("line %d: written %v after %v, want %v within %v", id, got, time.Since(begun), want, atMost)
			}
		}
		record(1, true, batchDelay)
		if !strings.Contains(d.written(), `"id":1,`) {
			t.Error("it was not written")
		}
		d.set(true, nil)
		record(2, false, batchDelay)
		d.set(false, nil)
		record(3, true, batchDelay)
		unblock := make(chan struct{})
		d.set(false, unblock)
		record(4, false, auditTimeout)
		// A later request does not wait for a log that is blocked.
		record(5, false, 0)
		d.set(false, nil)
		close(unblock)
		synctest.Wait()
		record(6, true, batchDelay)
		if text := d.written(); strings.Contains(text, `"id":2,`) || strings.Contains(text, `"id":5,`) ||
			!strings.Contains(text, `"id":6,`) {
			t.Errorf("written:\n%s", text)
		}
		stop()
		<-ended
	})
}

// A request reaches the kubelet only after its event is written, if KA-AUDIT-1 is enforced.
func TestRequestsWithoutALine(t *testing.T) {
	for _, tt := range []struct {
		name           string
		enforce, audit []string
		full           bool
		code           int
	}{
		{"enforced, and the log is written", []string{"KA-AUDIT-1"}, nil, false, http.StatusOK},
		{"enforced, and the log is full", []string{"KA-AUDIT-1"}, nil, true, http.StatusServiceUnavailable},
		{"audited, and the log is full", nil, []string{"KA-AUDIT-1"}, true, http.StatusOK},
		{"off, and the log is full", nil, nil, true, http.StatusOK},
	} {
		for _, path := range []string{"/pods", "/exec/ns/pod/c", "/containerLogs/ns/pod/c"} {
			t.Run(tt.name+" "+path, func(t *testing.T) {
				d := &disk{full: tt.full}
				before := ""
				w := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { before = d.written() }),
					func(s *settings) {
						s.enforce, s.audit, s.out = tt.enforce, tt.audit, d
					})
				got := w.do(w.client(w.admin(), false), http.MethodGet, path, nil)
				refused := tt.code != http.StatusOK
				if got.code != tt.code || refused != strings.HasSuffix(got.body, "[KA-AUDIT-1]\n") ||
					refused != (len(w.reached()) == 0) {
					t.Errorf("answered %d %s; the kubelet has seen %d", got.code, got.body, len(w.reached()))
				}
				if tt.code == http.StatusOK && tt.enforce != nil && !strings.Contains(before, `"stage":"begin"`) {
					t.Errorf("before the kubelet had it, the log had %q", before)
				}
				counted, err := testutil.GetCounterMetricValue(w.handler.metrics.audited.WithLabelValues("KA-AUDIT-1"))
				if err != nil || (counted == 1) != (tt.audit != nil) {
					t.Errorf("counted %v times (%v)", counted, err)
				}
			})
		}
	}
}

// The two lines of one request have different stages.
func TestStagesOfARecordedRequest(t *testing.T) {
	for path, want := range map[string]string{"/pods": "begin request", "/exec/ns/pod/c": "begin end"} {
		t.Run(path, func(t *testing.T) {
			w := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
				func(s *settings) { s.enforce = []string{"KA-AUDIT-1"} })
			w.do(w.client(w.admin(), false), http.MethodGet, path, nil)
			lines := w.await(2)
			first, last := lines[0], lines[1]
			if got := first.Stage + " " + last.Stage; got != want || len(lines) != 2 || first.ID != last.ID ||
				first.Status != 0 || last.Status != http.StatusOK {
				t.Errorf("%q: %+v", got, lines)
			}
		})
	}
}

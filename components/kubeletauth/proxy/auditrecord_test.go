// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

// disk is a file whose disk is full, or blocks, while the test wants that.
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
		// Who comes later does not wait for a log that takes nothing.
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

// A request reaches the kubelet with its line, or not at all.
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

// Who reads the log can tell the two lines of a request apart.
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

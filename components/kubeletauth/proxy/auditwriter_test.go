// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics"
)

// parts keeps what is written at one time apart.
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

// pathsOf are those of the lines in a part.
func pathsOf(t *testing.T, part string) []string {
	t.Helper()
	var paths []string
	for _, line := range decodeLines(t, part) {
		paths = append(paths, line.Path)
	}
	return paths
}

// Lines that come within 10 ms are written at once, in the order in which they came, and
// not later than that.
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

// Where many wait, time is not what they wait for: none is lost for want of pool.
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
				// The writer takes the first, and then waits for time to pass.
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

// The end of the program does not wait, and loses nothing.
func TestTheEndWritesWhatIsGathered(t *testing.T) {
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

// What was let through goes first while much of it waits, and only then.
func TestManyThatWereLetThroughGoFirst(t *testing.T) {
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

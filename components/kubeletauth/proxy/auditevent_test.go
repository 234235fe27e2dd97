// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"k8s.io/component-base/metrics"
)

type counter struct{ bytes, largest atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) {
	for _, line := range strings.Split(string(p), "\n") {
		c.largest.Store(max(c.largest.Load(), int64(len(line))))
	}
	c.bytes.Add(int64(len(p)))
	return len(p), nil
}

// Every field that a client can make long is bounded, in the queue and in the written line.
func TestLinesAreBounded(t *testing.T) {
	huge := strings.Repeat("\x00\"\u202e", 10_000)
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	few := slices.Repeat([]string{huge}, 20)
	for _, tt := range []struct {
		name    string
		groups  []string
		written int
	}{{"many groups", many, maxGroups}, {"large groups", few, maxGroupBytes / maxText}} {
		t.Run(tt.name, func(t *testing.T) {
			out := &counter{}
			audit := NewAudit(out, metrics.NewKubeRegistry())
			line := AuditEvent{User: huge, Namespace: huge, Pod: huge, Container: huge, Method: huge, Path: huge, Cause: huge,
				Groups: tt.groups}
			audit.put(&line, false)
			waits := <-audit.waiting[queueDenied]
			size := 0
			for _, text := range append(
				[]string{waits.User, waits.Namespace, waits.Pod, waits.Container, waits.Method, waits.Path, waits.Cause},
				waits.Groups...) {
				size += len(text)
			}
			if size > 8<<10 || len(waits.Groups) != tt.written || waits.MoreGroups != len(tt.groups)-tt.written {
				t.Errorf("%d bytes wait, with %d groups and %d more", size, len(waits.Groups), waits.MoreGroups)
			}
			audit.put(&line, false)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			audit.Run(ctx)
			if n := out.largest.Load(); n == 0 || n > 32<<10 {
				t.Errorf("a line of %d bytes", n)
			}
		})
	}
}

// An event in the queue does not keep the memory of its request.
func TestQueuedAuditEventDoesNotRetainTheRequest(t *testing.T) {
	request := []byte("/pods?" + strings.Repeat("x", 30_000))
	whole := string(request)
	line := AuditEvent{Path: whole[:5], Pod: whole[1:5], Groups: []string{whole[:5]}}
	kept := line.clone()
	for _, text := range []string{kept.Path, kept.Pod, kept.Groups[0]} {
		if at := uintptr(unsafe.Pointer(unsafe.StringData(text))); at >= uintptr(unsafe.Pointer(unsafe.StringData(whole))) &&
			at < uintptr(unsafe.Pointer(unsafe.StringData(whole)))+uintptr(len(whole)) {
			t.Errorf("%q is a part of the request", text)
		}
	}
}

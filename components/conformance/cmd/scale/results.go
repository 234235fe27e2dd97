// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/loadtest"
)

// results has the latencies and errors of the calls of all kubelets, while it records. It is safe
// for concurrent use.
type results struct {
	mu        sync.Mutex
	recording bool
	latencies map[string]*loadtest.Latencies
	// denied and failed count all denials and failures. messages are the first few of them.
	denied, failed int
	messages       []string
}

// mostMessages bounds the messages of errors.
const mostMessages = 10

func newResults() *results { return &results{latencies: map[string]*loadtest.Latencies{}} }

// record begins or ends the recording of latencies. Denials are always counted.
func (r *results) record(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recording = on
}

// call makes a call and records it. A call that was ended by the end of the run does not count.
func (r *results) call(kind string, do func() error) {
	one := &loadtest.Latencies{}
	if l := r.of(kind); l != nil {
		one = l
	}
	err := one.Time(do)
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if apierrors.IsForbidden(err) {
		r.denied++
	} else {
		r.failed++
	}
	if len(r.messages) < mostMessages {
		r.messages = append(r.messages, kind+": "+err.Error())
	}
}

// of returns where to record calls of a kind, or nil while nothing is recorded.
func (r *results) of(kind string) *loadtest.Latencies {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.recording {
		return nil
	}
	if r.latencies[kind] == nil {
		r.latencies[kind] = &loadtest.Latencies{}
	}
	return r.latencies[kind]
}

// summary is what the calls of one kind took.
type summary struct {
	kind     string
	calls    int
	p50, p99 time.Duration
}

func (r *results) summaries() []summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []summary
	for _, kind := range slices.Sorted(maps.Keys(r.latencies)) {
		l := r.latencies[kind]
		all = append(all, summary{kind, l.Len(), l.Percentile(50), l.Percentile(99)})
	}
	return all
}

func (r *results) errors() (denied, failed int, messages []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.denied, r.failed, slices.Clone(r.messages)
}

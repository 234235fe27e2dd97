// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

// lines passes whole lines on, each with the same beginning, so that those of several
// writers are told apart and none is torn.
type lines struct {
	// mu guards to, which others write to as well, and rest.
	mu   *sync.Mutex
	to   io.Writer
	head string
	// rest is the line that has not ended.
	rest []byte
}

func (w *lines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		w.rest = rest
		// Where nobody reads any more, who writes has still something to do.
		_, _ = fmt.Fprintf(w.to, "%s%s\n", w.head, line)
	}
}

// interject writes a line before the one that has not ended, and shows how that begins:
// Ginkgo ends a line when a suite is over.
func (w *lines) interject(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		line += ": " + string(w.rest)
	}
	fmt.Fprintf(w.to, "%s%s\n", w.head, line)
}

// tail passes on what it is given, and keeps the end of it.
type tail struct {
	to   io.Writer
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-maxFailureText):]
	t.mu.Unlock()
	return t.to.Write(p)
}

// String is at most maxFailureText bytes long.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.kept), ""))
}

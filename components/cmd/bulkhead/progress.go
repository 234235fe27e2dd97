// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progressAfter is the time after which a command reports its progress, and between two reports.
const progressAfter = 2 * time.Second

// progress prints the current step of a command every two seconds. A command that ends before that
// prints nothing.
type progress struct {
	mu      sync.Mutex
	current string
	ended   chan struct{}
	done    sync.WaitGroup
}

func startProgress(out io.Writer) *progress {
	p := &progress{ended: make(chan struct{})}
	ticker := time.NewTicker(progressAfter)
	p.done.Go(func() {
		defer ticker.Stop()
		p.print(out, ticker.C)
	})
	return p
}

// print prints a line for each tick, until stop.
func (p *progress) print(out io.Writer, ticks <-chan time.Time) {
	for {
		select {
		case <-p.ended:
			return
		case <-ticks:
			p.mu.Lock()
			_, _ = fmt.Fprintln(out, p.current)
			p.mu.Unlock()
		}
	}
}

// say sets what the next line says.
func (p *progress) say(current string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = current
}

// step says what is checked now.
func (p *progress) step(name string, done, of int) {
	text := "checking " + name
	if of > 1 {
		text += fmt.Sprintf(" (%d of %d)", done+1, of)
	}
	p.say(text)
}

// stop returns after the last line has been printed.
func (p *progress) stop() {
	close(p.ended)
	p.done.Wait()
}

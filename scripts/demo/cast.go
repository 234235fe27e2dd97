// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// longestWait is the most time that the recording spends where the demo waits for the cluster.
const longestWait = 1200 * time.Millisecond

// cast writes what is printed as a recording of asciinema, version 2: a header, and a line for each
// event. Pauses for the reader have their real length. Waits for the cluster are shortened to
// longestWait. So a recording lasts as long on each machine.
type cast struct {
	out  io.Writer
	now  func() time.Time
	last time.Time
	// at is the time in the recording.
	at time.Duration
	// pauses is the time since the last event that was a pause for the reader.
	pauses time.Duration
	err    error
}

// castHeader is the first line of a recording.
type castHeader struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp"`
	Title     string            `json:"title"`
	Env       map[string]string `json:"env"`
}

func newCast(out io.Writer, now func() time.Time) *cast {
	c := &cast{out: out, now: now, last: now()}
	c.write(castHeader{
		Version: 2, Width: width, Height: 24, Timestamp: c.last.Unix(),
		Title: "Bulkhead: one stolen certificate", Env: map[string]string{"TERM": "xterm-256color", "SHELL": "/bin/bash"},
	})
	return c
}

func (c *cast) pause(d time.Duration) { c.pauses += d }

// Write records an event. An error is kept for the end: the demo goes on without its recording.
func (c *cast) Write(p []byte) (int, error) {
	now := c.now()
	c.at += min(now.Sub(c.last), c.pauses+longestWait)
	c.last, c.pauses = now, 0
	text := strings.ReplaceAll(string(p), "\n", "\r\n")
	c.write([]any{json.Number(fmt.Sprintf("%.3f", c.at.Seconds())), "o", text})
	return len(p), nil
}

func (c *cast) write(v any) {
	if c.err != nil {
		return
	}
	encoder := json.NewEncoder(c.out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		c.err = fmt.Errorf("cannot write the recording: %w; is the disk full?", err)
	}
}

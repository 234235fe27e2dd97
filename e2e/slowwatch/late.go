// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"sync"
	"time"
)

const (
	// chunkSize is how much is read at once, and maxChunks how much may be on its
	// way: more than five seconds of any cluster's changes.
	chunkSize = 16 << 10
	maxChunks = 8192
)

// chunk is what one read gave, and when it is to arrive.
type chunk struct {
	data []byte
	err  error
	due  time.Time
}

// late is a stream whose every byte, and whose end, arrives later than at its
// source, in the source's rhythm. One goroutine reads from it.
type late struct {
	source io.ReadCloser
	chunks chan chunk
	closed chan struct{}
	once   sync.Once
	left   chunk
}

// holdBack reads ahead until the stream is closed or at its end.
func holdBack(source io.ReadCloser, delay time.Duration) *late {
	l := &late{source: source, chunks: make(chan chunk, maxChunks), closed: make(chan struct{})}
	go l.readAhead(delay)
	return l
}

func (l *late) readAhead(delay time.Duration) {
	defer close(l.chunks)
	for {
		data := make([]byte, chunkSize)
		n, err := l.source.Read(data)
		select {
		case l.chunks <- chunk{data[:n], err, time.Now().Add(delay)}:
		case <-l.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read waits until the next chunk is due.
func (l *late) Read(p []byte) (int, error) {
	if len(l.left.data) == 0 && l.left.err == nil {
		next, ok := <-l.chunks
		if !ok {
			return 0, io.ErrClosedPipe
		}
		select {
		case <-time.After(time.Until(next.due)):
		case <-l.closed:
			return 0, io.ErrClosedPipe
		}
		l.left = next
	}
	n := copy(p, l.left.data)
	l.left.data = l.left.data[n:]
	if len(l.left.data) == 0 {
		return n, l.left.err
	}
	return n, nil
}

// Close ends the source and what waits.
func (l *late) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.source.Close()
}

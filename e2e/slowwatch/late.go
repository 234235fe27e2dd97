// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"sync"
	"time"
)

const (
	// chunkSize is the size of one read. maxChunks bounds the delayed chunks: more than five
	// seconds of changes in any cluster.
	chunkSize = 16 << 10
	maxChunks = 8192
)

// chunk is the result of one read, and the time at which it is due.
type chunk struct {
	data []byte
	err  error
	due  time.Time
}

// late is a stream that delays every byte, and the end, of its source by the same time. Only one
// goroutine may read from it.
type late struct {
	source io.ReadCloser
	chunks chan chunk
	closed chan struct{}
	once   sync.Once
	left   chunk
}

// newLate reads ahead until the stream is closed or the source ends.
func newLate(source io.ReadCloser, delay time.Duration) *late {
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

// Close closes the source and drops the delayed chunks.
func (l *late) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.source.Close()
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"io"
	"sync"
)

const (
	// bulk is the size of the buffers that bodies and busy streams are copied with: TLS
	// gives no more than a record at once. One fits also as it is sent.
	bulk = record + 512
	// trickle is the size of the buffer that a stream has while little comes: a
	// shell's echo fits, and thousands of idle streams hold next to nothing.
	trickle = 2 << 10
	// burst is how large pieces have to be for a stream to keep a large buffer. One
	// that falls silent right after such a piece keeps it until the next.
	burst = 1 << 10
)

// buffers implements [net/http/httputil.BufferPool].
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[bulk]byte); ok {
		return buffer[:]
	}
	return make([]byte, bulk)
}

func (b *buffers) Put(buffer []byte) {
	if len(buffer) == bulk {
		b.pool.Put((*[bulk]byte)(buffer))
	}
}

// relay copies until from ends, and tells of every piece. It has a large buffer
// only while pieces are large. EOF is no error. below is the wires of both.
func (b *buffers) relay(to io.Writer, from io.Reader, below seam, carried func(int)) error {
	small := make([]byte, trickle)
	for {
		err := b.step(to, from, below, small, carried)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// step waits for a piece with the small buffer. If it is full, there may be more,
// and a large one is used as long as that is so.
func (b *buffers) step(to io.Writer, from io.Reader, below seam, small []byte, carried func(int)) error {
	n, err := pass(to, from, small, carried)
	if err != nil || n < len(small) {
		return err
	}
	large := b.Get()
	defer b.Put(large)
	below.gather(b)
	for more := true; more && err == nil; more = n >= burst {
		n, err = pass(to, from, large, carried)
	}
	if failed := below.release(); failed != nil {
		return failed
	}
	return err
}

// pass reads once and writes what it read.
func pass(to io.Writer, from io.Reader, buffer []byte, carried func(int)) (int, error) {
	n, readErr := from.Read(buffer)
	if n > 0 {
		if _, err := to.Write(buffer[:n]); err != nil {
			return n, err
		}
		carried(n)
	}
	return n, readErr
}

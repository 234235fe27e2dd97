// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
)

// record is the most that a record of TLS carries (RFC 8446, section 5.1), in bytes. With
// header, nonce and tag it fits into a buffer of bulk bytes.
const record = 16 << 10

// wire is a connection below TLS. crypto/tls reads two full records at once from a busy
// connection, but writes each by itself: so while a stream is busy, a wire holds one full
// record and writes it together with the next. Nothing waits for what has yet to come: the
// wire that is read from has it written before it reads again.
type wire struct {
	net.Conn
	// ahead is where what is held has to be written before more is read here.
	ahead atomic.Pointer[wire]
	// writing is true while what was held is written with TLS not knowing of it. Once
	// ending is true that does not begin any more.
	writing, ending atomic.Bool

	mu        sync.Mutex
	gathering bool
	pool      *buffers
	// held is from the pool, empty if nothing is held.
	held []byte
	// failed is why nothing can be written any more.
	failed error
	// pieces and both are what is written at once.
	pieces [2][]byte
	both   net.Buffers
}

// wireOf is what is below TLS; nil if that is no wire.
func wireOf(conn net.Conn) *wire {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	if c, ok := conn.(*connection); ok {
		conn = c.Conn
	}
	w, _ := conn.(*wire)
	return w
}

// Read reads when nothing is held on the other side.
func (w *wire) Read(p []byte) (int, error) {
	if ahead := w.ahead.Load(); ahead != nil {
		if err := ahead.flush(); err != nil {
			return 0, err
		}
	}
	return w.Conn.Read(p)
}

// Write holds a full record, or writes it behind the one that is held. Who calls has a
// lock of its own around it, so that records come in order.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.failed != nil:
		return 0, w.failed
	case len(w.held) > 0:
		return w.writeBothLocked(p)
	case w.gathering && len(p) >= record && len(p) <= bulk:
		buffer := w.pool.Get()
		w.held = buffer[:copy(buffer, p)]
		return len(p), nil
	}
	n, err := w.Conn.Write(p)
	w.failed = err
	return n, err
}

// writeBothLocked counts, as whoever wrote p expects it, only what was written of that.
func (w *wire) writeBothLocked(p []byte) (int, error) {
	w.pieces = [2][]byte{w.held, p}
	w.both = w.pieces[:]
	n, err := w.both.WriteTo(w.Conn)
	n = max(n-int64(len(w.held)), 0)
	w.pieces, w.failed = [2][]byte{}, err
	w.pool.Put(w.held[:bulk])
	w.held = nil
	return int(n), err
}

// flush writes what is held. Its error stays: what comes after a record that is missing
// means nothing to the other side.
func (w *wire) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 || w.failed != nil {
		return w.failed
	}
	w.writing.Store(true)
	defer w.writing.Store(false)
	if w.ending.Load() {
		return net.ErrClosed
	}
	_, err := w.writeBothLocked(nil)
	return err
}

// end comes before TLS closes the connection. TLS says goodbye first, unless it is
// writing, and a goodbye would wait for what TLS does not know to be written.
func (w *wire) end() {
	if w == nil {
		return
	}
	w.ending.Store(true)
	if w.writing.Load() {
		_ = w.Close()
	}
}

// seam is where what is read from one wire is written to another. Either may be nil:
// then nothing is held.
type seam struct{ from, to *wire }

// gather begins to hold full records.
func (s seam) gather(pool *buffers) {
	if s.from == nil || s.to == nil {
		return
	}
	s.to.mu.Lock()
	s.to.gathering, s.to.pool = true, pool
	s.to.mu.Unlock()
	s.from.ahead.Store(s.to)
}

// release ends that, and writes what is held.
func (s seam) release() error {
	if s.from == nil || s.to == nil {
		return nil
	}
	s.from.ahead.Store(nil)
	s.to.mu.Lock()
	s.to.gathering = false
	s.to.mu.Unlock()
	return s.to.flush()
}

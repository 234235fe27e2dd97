// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

var errGone = errors.New("gone")

// written is a connection that keeps what is written to it, until it fails.
type written struct {
	net.Conn
	all    []string
	err    error
	closed bool
}

func (c *written) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if len(p) > 0 {
		c.all = append(c.all, string(p[:1]))
	}
	return len(p), nil
}

func (c *written) Read([]byte) (int, error) { return 0, io.EOF }
func (c *written) Close() error             { c.closed = true; return nil }

func fullRecord(mark string) []byte { return bytes.Repeat([]byte(mark), record+22) }

// seamOf is a seam whose far side is kept.
func seamOf() (seam, *written) {
	out := &written{}
	return seam{from: &wire{Conn: &written{}}, to: &wire{Conn: out}}, out
}

func send(t *testing.T, w *wire, p []byte) {
	t.Helper()
	if n, err := w.Write(p); err != nil || n != len(p) {
		t.Fatalf("wrote %d of %d: %v", n, len(p), err)
	}
}

// One full record is held, and written with the next, whatever that is; everything else is
// written at once, and in order.
func TestOneFullRecordIsHeld(t *testing.T) {
	small := func(mark string) []byte { return bytes.Repeat([]byte(mark), record-1) }
	large := func(mark string) []byte { return bytes.Repeat([]byte(mark), bulk+1) }
	for _, tt := range []struct {
		name  string
		busy  bool
		write [][]byte
		now   []string
	}{
		{"a full record of a busy stream", true, [][]byte{fullRecord("a")}, nil},
		{"one of a stream that is not", false, [][]byte{fullRecord("a")}, []string{"a"}},
		{"one that is not full", true, [][]byte{small("a")}, []string{"a"}},
		{"more than a buffer holds", true, [][]byte{large("a")}, []string{"a"}},
		{"a second full one", true, [][]byte{fullRecord("a"), fullRecord("b")}, []string{"a", "b"}},
		{"a third", true, [][]byte{fullRecord("a"), fullRecord("b"), fullRecord("c")}, []string{"a", "b"}},
		{"a small one behind it", true, [][]byte{fullRecord("a"), small("b")}, []string{"a", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, out := seamOf()
			if tt.busy {
				s.gather(&buffers{})
			}
			for _, p := range tt.write {
				send(t, s.to, p)
				// crypto/tls uses its buffer again.
				clear(p)
			}
			if !slices.Equal(out.all, tt.now) {
				t.Errorf("%q are written, want %q", out.all, tt.now)
			}
		})
	}
}

// What is held is written before more is read, and when a stream is busy no more.
func TestWhatIsHeldDoesNotWait(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(seam) error
	}{
		{"more is read", func(s seam) error { _, err := s.from.Read(nil); return err }},
		{"busy no more", func(s seam) error { _ = s.release(); _, err := s.from.Read(nil); return err }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, out := seamOf()
			s.gather(&buffers{})
			send(t, s.to, fullRecord("a"))
			if err := tt.do(s); !errors.Is(err, io.EOF) || !slices.Equal(out.all, []string{"a"}) {
				t.Errorf("%q are written: %v", out.all, err)
			}
		})
	}
	s, out := seamOf()
	s.gather(&buffers{})
	if err := s.release(); err != nil {
		t.Error(err)
	}
	if send(t, s.to, fullRecord("a")); len(out.all) != 1 {
		t.Error("a record is held by a stream that is busy no more")
	}
}

// Without a record, what follows means nothing to the other side.
func TestAWireThatFailedStaysSo(t *testing.T) {
	s, out := seamOf()
	s.gather(&buffers{})
	send(t, s.to, fullRecord("a"))
	out.err = errGone
	if _, err := s.from.Read(nil); !errors.Is(err, errGone) {
		t.Errorf("read on after a write that failed: %v", err)
	}
	out.err = nil
	if n, err := s.to.Write([]byte("goodbye")); !errors.Is(err, errGone) || n != 0 || len(out.all) > 0 {
		t.Errorf("wrote %d (%v): %q", n, err, out.all)
	}
	if err := s.release(); !errors.Is(err, errGone) {
		t.Errorf("released: %v", err)
	}
}

// Once it ends, nothing is written behind TLS's back: its goodbye comes after what is held.
func TestAWireThatEnds(t *testing.T) {
	s, out := seamOf()
	s.gather(&buffers{})
	send(t, s.to, fullRecord("a"))
	s.to.end()
	if out.closed {
		t.Error("closed before TLS said goodbye, and nothing was being written")
	}
	if _, err := s.from.Read(nil); !errors.Is(err, net.ErrClosed) || len(out.all) > 0 {
		t.Errorf("%q are written: %v", out.all, err)
	}
	if send(t, s.to, []byte("goodbye")); !slices.Equal(out.all, []string{"a", "g"}) {
		t.Errorf("%q are written", out.all)
	}
	(*wire)(nil).end()
}

// What is being written when it ends would hold up TLS's goodbye.
func TestAWireThatEndsWhileItWrites(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	s := seam{from: &wire{Conn: &written{}}, to: &wire{Conn: near}}
	s.gather(&buffers{})
	send(t, s.to, fullRecord("a"))
	failed := make(chan error, 1)
	go func() { _, err := s.from.Read(nil); failed <- err }()
	if _, err := far.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.to.end()
	select {
	case err := <-failed:
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("wrote to the end: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on writing")
	}
}

// Below what is not ours there is no wire, and nothing is held.
func TestWithoutWires(t *testing.T) {
	if w := wireOf(&written{}); w != nil {
		t.Error("a wire of somebody else's connection")
	}
	to := &wire{Conn: &written{}}
	for _, s := range []seam{{to: to}, {from: to}, {}} {
		s.gather(&buffers{})
		if err := s.release(); err != nil || to.gathering {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

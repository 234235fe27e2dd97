// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"
)

// raw switches protocols, and has the connection from then on.
type raw func(conn net.Conn, from io.Reader)

func (r raw) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "SPDY/3.1")
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	r(conn, rw)
}

func echo(conn net.Conn, from io.Reader) { _, _ = io.Copy(conn, from) }

// pastSmall is more than what crypto/tls sends in small records at first.
const pastSmall = 1 << 20

// What goes both ways as fast as it can arrives whole and in order.
func TestABusyStreamArrivesWhole(t *testing.T) {
	w := start(t, raw(echo), nil)
	conn, reader, _ := w.upgrade("/exec/ns/pod/c", "")
	sent := make([]byte, 8<<20+12345)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(sent)
	go func() { _, _ = conn.Write(sent) }()
	back := make([]byte, len(sent))
	if n, err := io.ReadFull(reader, back); err != nil || !bytes.Equal(back, sent) {
		t.Errorf("%d bytes of %d came back (%v), or others", n, len(sent), err)
	}
	_ = conn.Close()
	if end := w.await(2)[1]; end.BytesIn != int64(len(sent)) || end.BytesOut < int64(len(sent)) {
		t.Errorf("counted %d in and %d out of %d", end.BytesIn, end.BytesOut, len(sent))
	}
}

// A full record after which both sides wait is not held until something comes.
func TestNothingIsHeldWhileBothWait(t *testing.T) {
	w := start(t, raw(echo), nil)
	conn, reader, _ := w.upgrade("/exec/ns/pod/c", "")
	piece := make([]byte, 16<<10)
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	for i := range pastSmall / len(piece) * 2 {
		if _, err := conn.Write(piece); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(reader, piece); err != nil {
			t.Fatalf("piece %d did not come back: %v", i, err)
		}
	}
}

// A client that takes nothing has a second, and no more: not the five that TLS waits to
// say goodbye.
func TestAStuckStreamEndsSoon(t *testing.T) {
	flood := raw(func(conn net.Conn, _ io.Reader) {
		for piece := make([]byte, 1<<20); ; {
			if _, err := conn.Write(piece); err != nil {
				return
			}
		}
	})
	w := start(t, flood, func(s *settings) { s.drain = time.Millisecond })
	_, _, response := w.upgrade("/exec/ns/pod/c", "")
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(response.Status)
	}
	// Until the kernel's buffers are full.
	for last := int64(-1); ; time.Sleep(200 * time.Millisecond) {
		now := w.carriedOut()
		if now > pastSmall && now == last {
			break
		}
		last = now
	}
	begun := time.Now()
	w.stop()
	w.await(2)
	if took := time.Since(begun); took > closeTimeout+2*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// carriedOut is what the one stream carried to its client.
func (w *world) carriedOut() (n int64) {
	streams := &w.handler.streams
	streams.mu.Lock()
	defer streams.mu.Unlock()
	for s := range streams.all {
		n += s.request.out.Load()
	}
	return n
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"
)

// raw switches protocols and then calls the function with the connection.
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

// pastSmall is more bytes than crypto/tls sends in small records at the start.
const pastSmall = 1 << 20

// If both directions are as fast as possible, all bytes arrive in order.
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

// A full record is forwarded at once, even if both sides then wait.
func TestFullRecordsAreForwardedAtOnce(t *testing.T) {
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

// A client that does not read has one second, and not the five seconds that TLS waits to send its
// close message. On a busy machine one attempt may take longer for any reason, so the fastest of
// several attempts counts: if the proxy waited for TLS, each would take five seconds.
func TestAStuckStreamEndsSoon(t *testing.T) {
	const attempts, bound = 5, closeTimeout + 3*time.Second
	var all []time.Duration
	for i := range attempts {
		t.Run(fmt.Sprint("attempt ", i+1), func(t *testing.T) { all = append(all, endOfStuckStream(t)) })
		if t.Failed() || slices.Min(all) <= bound {
			return
		}
	}
	t.Errorf("the attempts took %v to end", all)
}

// endOfStuckStream returns how long the proxy takes to end the stream of a client that does not read.
func endOfStuckStream(t *testing.T) time.Duration {
	t.Helper()
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
	// Write until the kernel's buffers are full.
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
	return time.Since(begun)
}

// carriedOut is the number of bytes that the stream has sent to its client.
func (w *world) carriedOut() (n int64) {
	streams := &w.handler.streams
	streams.mu.Lock()
	defer streams.mu.Unlock()
	for s := range streams.all {
		n += s.request.out.Load()
	}
	return n
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// A stream without bytes in both directions is ended. A stream with a few bytes is not.
func TestIdleStreamsEnd(t *testing.T) {
	const idle = 5 * time.Second
	w := start(t, newStreaming(t), func(s *settings) { s.limits.StreamIdle = idle })
	conn, _, err := w.websocket("/exec/ns/pod/c", "v4.channel.k8s.io")
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 2*idle; time.Sleep(idle / 16) {
		if err := conn.WriteMessage(websocket.BinaryMessage, []byte("x")); err != nil {
			t.Fatalf("after %v: %v", time.Since(begun), err)
		}
		if _, _, err := conn.ReadMessage(); err != nil {
			t.Fatalf("after %v: %v", time.Since(begun), err)
		}
	}
	if _, _, err := conn.ReadMessage(); err == nil {
		t.Error("an idle stream goes on")
	}
	if end := w.await(2)[1]; end.Cause != errIdle.Error() || end.Decision != "allow" {
		t.Errorf("line %+v", end)
	}
}

// ends reads until the connection ends, and fails if that takes too long.
func ends(t *testing.T, conn net.Conn, reader io.Reader) error {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	_, err := io.Copy(io.Discard, reader)
	return err
}

// A stream is ended when its user loses access. It is not ended while access is confirmed, or while
// the API server does not answer for a short time.
func TestAccessIsAskedAboutAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*world)
		cause  string
	}{
		{"right is revoked", func(w *world) { w.decides(only("get", "stats")) }, errAccess.Error()},
		{"a CA that signs for others now", func(w *world) { w.revoked.Store(true) }, errRevoked.Error()},
		{"a certificate that is another's", func(w *world) { w.renamed.Store(true) }, errRevoked.Error()},
		{"an API server that stays away", func(w *world) { w.decides(failing) }, errUnsure.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const check = 150 * time.Millisecond
			w := start(t, newStreaming(t), func(s *settings) { s.limits.StreamRecheck = check })
			asked := make(chan struct{}, 100)
			w.decides(func(authorizer.Attributes) (Answer, error) {
				asked <- struct{}{}
				return Answer{Allowed: true}, nil
			})
			conn, reader, _ := w.upgrade("/exec/ns/pod/c", "")
			// One check at the start, and two rechecks that allow the stream.
			for range 3 {
				<-asked
			}
			tt.change(w)
			if err := ends(t, conn, reader); err != nil {
				t.Errorf("not a clean end: %v", err)
			}
			if end := w.await(2)[1]; end.Cause != tt.cause {
				t.Errorf("ended because %q, want %q", end.Cause, tt.cause)
			}
		})
	}
}

// At shutdown, the proxy waits for streams for a short time. Then it closes both sides cleanly.
func TestStoppingEndsStreams(t *testing.T) {
	w := start(t, newStreaming(t), func(s *settings) { s.drain = 300 * time.Millisecond })
	conn, reader, _ := w.upgrade("/exec/ns/pod/c", "")
	begun := time.Now()
	w.stop()
	if err := ends(t, conn, reader); err != nil {
		t.Errorf("not a clean end: %v", err)
	}
	if took := time.Since(begun); took < 300*time.Millisecond {
		t.Errorf("the stream was given %v", took)
	}
	if end := w.await(2)[1]; end.Cause != errStopping.Error() {
		t.Errorf("line %+v", end)
	}
}

// A client can see that its log is incomplete.
func TestStoppingCutsLogsOffVisibly(t *testing.T) {
	kubelet := newStreaming(t)
	w := start(t, kubelet, nil)
	response, err := w.client(w.admin(), true).Get("https://" + w.address + "/containerLogs/ns/pod/c?follow=true")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	kubelet.lines <- "one"
	reader := bufio.NewReader(response.Body)
	if line, err := reader.ReadString('\n'); err != nil || line != "one\n" {
		t.Fatalf("read %q (%v)", line, err)
	}
	w.stop()
	if rest, err := io.ReadAll(reader); err == nil || len(rest) > 0 {
		t.Errorf("read %q, and then %v", rest, err)
	}
}

// Bytes that a kubelet sends after its connection was closed are not forwarded: they are not the
// outcome of the command.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	near, far := net.Pipe()
	defer far.Close()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	client := &clientConn{Conn: near, request: &requestContext{stream: &stream{ctx: ctx}}}
	if _, err := client.Write([]byte("before")); err != nil {
		t.Error(err)
	}
	cancel(errStopping)
	if n, err := client.Write([]byte(" and after")); !errors.Is(err, errStopping) || n != 0 {
		t.Errorf("%d bytes were written after the end; error %v", n, err)
	}
}

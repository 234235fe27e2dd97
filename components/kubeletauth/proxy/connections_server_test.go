// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// anonymous is the TLS configuration of a client without a certificate.
func (w *world) anonymous() *tls.Config {
	config := w.admin()
	config.Certificates = nil
	return config
}

// Two addresses without rights open as many connections as they can. The API server can still
// connect repeatedly, with a new connection for each stream.
func TestUnauthenticatedClientsDoNotBlockTheAPIServer(t *testing.T) {
	w := start(t, newStreaming(t), func(s *settings) {
		s.connections.New, s.connections.NewPerAddress, s.connections.NewTimeout = 8, 4, time.Hour
		s.headerTimeout = time.Minute
	})
	var held []*tls.Conn
	for i := range 8 {
		held = append(held, w.dialFrom(fmt.Sprint("127.0.0.", 2+i%2), w.anonymous()))
	}
	for range 20 {
		if _, _, err := w.websocket("/exec/ns/pod/c"); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.do(w.client(w.admin(), true), http.MethodGet, "/pods", nil); got.code != http.StatusOK {
		t.Errorf("answered %d %s", got.code, got.body)
	}
	// Only one connection lost its slot to the API server. The others are still open.
	open := 0
	for _, conn := range held {
		fmt.Fprint(conn, "GET /pods HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")
		if text, _ := io.ReadAll(conn); strings.HasPrefix(string(text), "HTTP/1.1 401 ") {
			open++
		}
	}
	if open != 7 {
		t.Errorf("%d of 8 strangers are heard", open)
	}
}

// expire ends the time limit of all new connections.
func (w *world) expire() {
	w.server.connections.mu.Lock()
	pending := slices.Clone(w.server.connections.pending)
	w.server.connections.mu.Unlock()
	for _, c := range pending {
		w.server.connections.end(c, reasonLate)
	}
}

// A connection without requests, or with denied requests only, is closed. A connection with an
// allowed request stays open.
func TestConnectionsWithoutAllowedRequestsAreClosed(t *testing.T) {
	w := start(t, answering("answer"), nil)
	for _, http2 := range []bool{false, true} {
		client := w.client(w.admin(), http2)
		if got := w.do(client, http.MethodGet, "/pods", nil); got.code != http.StatusOK {
			t.Fatalf("answered %d %s", got.code, got.body)
		}
		config := w.anonymous()
		if http2 {
			config.NextProtos = []string{"h2"}
		}
		silent, refused := w.dialFrom("127.0.0.1", config), w.dialFrom("127.0.0.1", w.anonymous())
		fmt.Fprint(refused, "GET /pods HTTP/1.1\r\nHost: n\r\n\r\n")
		if _, err := refused.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		w.expire()
		for name, conn := range map[string]*tls.Conn{"silent": silent, "refused": refused} {
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("who is %s stays: %v", name, err)
			}
		}
		w.do(client, http.MethodGet, "/pods", func(req *http.Request) {
			trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
				if !info.Reused {
					t.Error("who was let in had to come again")
				}
			}}
			*req = *req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
		})
	}
}

// On one connection, a client gets a limited number of denials. After an allowed request there is
// no such limit.
func TestANewConnectionCarriesLittle(t *testing.T) {
	w := start(t, answering("answer"), nil)
	const requests = 500
	for _, tt := range []struct {
		name   string
		config *tls.Config
		ends   bool
	}{{"anonymous", w.anonymous(), true}, {"admin", w.admin(), false}} {
		conn := w.dialFrom("127.0.0.1", tt.config)
		go func() {
			_, _ = io.WriteString(conn,
				strings.Repeat("GET /pods HTTP/1.1\r\nHost: n\r\nX: "+strings.Repeat("x", 1000)+"\r\n\r\n", requests))
		}()
		answers := 0
		buffer := make([]byte, 1<<10)
		for carry := ""; answers < requests; {
			n, err := conn.Read(buffer)
			if err != nil {
				break
			}
			carry += string(buffer[:n])
			answers += strings.Count(carry, "HTTP/1.1 ")
			carry = carry[max(0, len(carry)-8):]
		}
		if answers == 0 || (answers < requests) != tt.ends {
			t.Errorf("%s is answered %d times of %d", tt.name, answers, requests)
		}
	}
}

// The connections of one user do not use the slots of another user.
func TestOneUserCannotTakeAllConnections(t *testing.T) {
	w := start(t, newStreaming(t), func(s *settings) { s.connections.PerUser = 2 })
	w.tokens.Store("other", "other")
	for range 2 {
		if _, _, err := w.websocket("/exec/ns/pod/c"); err != nil {
			t.Fatal(err)
		}
	}
	got := w.do(w.client(w.admin(), false), http.MethodGet, "/pods", nil)
	want := "Too many requests: the user has too many connections [KA-LIMIT-1]\n"
	if got.code != http.StatusTooManyRequests || got.body != want {
		t.Errorf("answered %d %s", got.code, got.body)
	}
	got = w.do(w.client(w.anonymous(), false), http.MethodGet, "/pods",
		func(req *http.Request) { req.Header.Set("Authorization", "Bearer other") })
	if got.code != http.StatusOK {
		t.Errorf("another is answered %d %s", got.code, got.body)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

// fake is a connection from the given address.
type fake struct {
	net.Conn
	from   string
	sends  int
	closed bool
}

func (f *fake) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.from))
}

func (f *fake) Close() error {
	f.closed = true
	return nil
}

func (f *fake) Read(p []byte) (int, error) { return min(f.sends, len(p)), nil }

// crowd contains connections by their names of one character. In a step, the letter before the name
// is the client address.
type crowd struct {
	t     *testing.T
	pool  *connectionPool
	conns map[byte]*fake
	has   map[byte]*connection
}

func newCrowd(t *testing.T, limits ConnectionLimits) *crowd {
	limits.NewTimeout = time.Minute
	return &crowd{t: t, pool: newConnectionPool(limits, 100, metrics.NewKubeRegistry()), conns: map[byte]*fake{},
		has: map[byte]*connection{}}
}

// do runs steps: "+a1" opens connection 1 from address a, "-1" closes it, and "!1" is an allowed
// request of user "u" over it.
func (c *crowd) do(steps string) {
	c.t.Helper()
	for step := range strings.FieldsSeq(steps) {
		name := step[len(step)-1]
		switch step[0] {
		case '+':
			c.conns[name] = &fake{from: "192.0.2." + string('0'+step[1]-'a') + ":1"}
			c.has[name] = c.pool.enter(c.conns[name])
		case '-':
			_ = c.has[name].Close()
		case '!':
			if !c.pool.admit(c.has[name], "u") && !c.conns[name].closed {
				c.conns[name].from = "refused"
			}
		}
	}
}

// open returns the names of the connections that are not closed.
func (c *crowd) open() string {
	var open []byte
	for name := byte('0'); name <= 'Z'; name++ {
		if conn, ok := c.conns[name]; ok && !conn.closed {
			open = append(open, name)
		}
	}
	return string(open)
}

func TestConnectionLimits(t *testing.T) {
	for _, tt := range []struct{ name, steps, open string }{
		{"an address opens more than its share: its oldest connection closes", "+a1 +a2 +a3 +a4", "234"},
		{"closed connections do not count against the share", "+a1 +a2 +a3 -2 +a4", "134"},
		{"share is per address", "+a1 +b2 +b3 +b4 +b5 +b6", "1456"},
		{"address with the most connections loses its oldest one", "+a1 +a2 +a3 +b4 +c5", "2345"},
		{"many addresses with one connection each", "+a1 +b2 +c3 +d4 +e5", "2345"},
		{"addresses with as few connections lose none", "+a1 +a2 +b3 +b4 +a5", "2345"},
		{"connections with an allowed request do not count", "+a1 !1 +a2 !2 +a3 +a4 +a5 +b6", "123456"},
		{"connections with an allowed request are never closed", "+a1 !1 +a2 !2 +b3 +b4 +b5 +c6 +c7 +d8", "125678"},
		{"address with an allowed request displaces others", "+a1 !1 +b2 +c3 +d4 +e5 +a6 +a7 +f8 +g9", "16789"},
		{"new address displaces one with an allowed request", "+a1 !1 +b2 !2 +a3 +a4 +b5 +b6 +c7", "124567"},
		{"users have a share", "+a1 !1 +a2 !2 +a3 !3 +a4 !4", "1234"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, ConnectionLimits{All: 4, PerUser: 3, New: 4, NewPerAddress: 3})
				c.do(tt.steps)
				if got := c.open(); got != tt.open {
					t.Errorf("open are %q, want %q", got, tt.open)
				}
				if refused := c.conns['4'] != nil && c.conns['4'].from == "refused"; refused != (tt.name == "users have a share") {
					t.Errorf("refused: %v", refused)
				}
				for _, conn := range c.has {
					_ = conn.Close()
				}
				if r := c.pool; len(r.pending)+r.admitted+len(r.peers)+len(r.users) != 0 {
					t.Errorf("something is left: %+v", r)
				}
			})
		})
	}
}

// All addresses of one /64 share one limit. An IPv4-mapped IPv6 address counts as the IPv4 address.
func TestConnectionLimitPerNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			one, other string
			same       bool
		}{
			{"[2001:db8::1]:1", "[2001:db8::ffff:2]:1", true},
			{"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
			{"192.0.2.1:1", "[::ffff:192.0.2.1]:2", true},
			{"192.0.2.1:1", "192.0.2.2:1", false},
		} {
			r := newConnectionPool(ConnectionLimits{All: 9, PerUser: 9, New: 9, NewPerAddress: 1, NewTimeout: time.Minute}, 100,
				metrics.NewKubeRegistry())
			first := &fake{from: tt.one}
			one, other := r.enter(first), r.enter(&fake{from: tt.other})
			if first.closed != tt.same {
				t.Errorf("%s and %s: %v", tt.one, tt.other, first.closed)
			}
			_, _ = one.Close(), other.Close()
		}
	})
}

// A connection may be new for a limited time, and may send a limited number of bytes. Neither limit
// applies after a request over it was allowed.
func TestANewConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name, reason   string
			admitted, ends bool
			sends          int
			after          time.Duration
		}{
			{"in time", "late", false, false, 100, time.Minute - 1},
			{"too late", "late", false, true, 0, time.Minute},
			{"late, but let in", "late", true, false, 0, time.Hour},
			{"too much", "size", false, true, 101, 0},
			{"too much, but let in", "size", true, false, 101, 0},
		} {
			r := newConnectionPool(ConnectionLimits{All: 1, PerUser: 1, New: 1, NewPerAddress: 1, NewTimeout: time.Minute}, 100,
				metrics.NewKubeRegistry())
			conn := &fake{from: "192.0.2.1:1", sends: tt.sends}
			c := r.enter(conn)
			if tt.admitted && !r.admit(c, "u") {
				t.Errorf("%s: not let in", tt.name)
			}
			_, err := c.Read(make([]byte, 1000))
			time.Sleep(tt.after)
			synctest.Wait()
			if conn.closed != tt.ends || (err != nil) != (tt.ends && tt.reason == "size") {
				t.Errorf("%s: closed %v, error %v", tt.name, conn.closed, err)
			}
			want := 0.0
			if tt.ends {
				want = 1
			}
			if got, err := testutil.GetCounterMetricValue(r.refused.WithLabelValues(tt.reason)); err != nil || got != want {
				t.Errorf("%s: counted %v (%v)", tt.name, got, err)
			}
			_ = c.Close()
		}
	})
}

// nobody is the TLS configuration of a client without a certificate.
func (w *world) nobody() *tls.Config {
	config := w.admin()
	config.Certificates = nil
	return config
}

// Two addresses without rights open as many connections as they can. The API server can still
// connect repeatedly, with a new connection for each stream.
func TestUnauthenticatedClientsDoNotBlockTheAPIServer(t *testing.T) {
	w := start(t, newStreaming(t), func(s *settings) {
		s.connections.New, s.connections.NewPerAddress, s.connections.NewTimeout = 8, 4, time.Hour
	})
	var held []*tls.Conn
	for i := range 8 {
		held = append(held, w.dialFrom(fmt.Sprint("127.0.0.", 2+i%2), w.nobody()))
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
		config := w.nobody()
		if http2 {
			config.NextProtos = []string{"h2"}
		}
		silent, refused := w.dialFrom("127.0.0.1", config), w.dialFrom("127.0.0.1", w.nobody())
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
	}{{"nobody", w.nobody(), true}, {"admin", w.admin(), false}} {
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
	if want := "Too many requests: the user has too many connections [KA-LIMIT-1]\n"; got.code != http.StatusTooManyRequests || got.body != want {
		t.Errorf("answered %d %s", got.code, got.body)
	}
	got = w.do(w.client(w.nobody(), false), http.MethodGet, "/pods",
		func(req *http.Request) { req.Header.Set("Authorization", "Bearer other") })
	if got.code != http.StatusOK {
		t.Errorf("another is answered %d %s", got.code, got.body)
	}
}

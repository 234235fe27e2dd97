// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net"
	"net/netip"
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

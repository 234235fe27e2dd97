// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
)

var errTooLarge = errors.New("the client sent too much before a request was allowed")

// connection is a client's connection, with its slot in the pool.
type connection struct {
	net.Conn
	pool    *connectionPool
	address netip.Prefix
	// admitted is true once a request was allowed. received counts the bytes until then.
	admitted atomic.Bool
	received atomic.Int64

	// pool.mu guards the fields below.
	slot  slot
	peer  *peer
	user  string
	timer *time.Timer
}

// slot is the kind of slot that a connection has.
type slot int

const (
	slotNone slot = iota
	slotNew
	slotAdmitted
)

// Read limits how much memory a client can use in the proxy before a request is allowed:
// certificates, headers, waiting requests, and HTTP/2 frames.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.admitted.Load() && c.received.Add(int64(n)) > c.pool.newBytes {
		c.pool.end(c, reasonSize)
		return 0, errTooLarge
	}
	return n, err
}

// Close frees the slot.
func (c *connection) Close() error {
	c.pool.leave(c)
	return c.Conn.Close()
}

// closeFor closes a connection that has lost its slot. It counts the reason.
func (c *connection) closeFor(reason string) {
	c.pool.refused.WithLabelValues(reason).Inc()
	_ = c.Conn.Close()
}

type connectionKey struct{}

// withConnection is for [net/http.Server.ConnContext].
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// connectionOf returns nil if the request did not come through the listener.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// connectionPool manages the slots of connections, for the listeners of all addresses. A new
// connection has one of a few slots for new connections. When a request over it is allowed, it gets
// a slot of the other kind. So clients without rights can only fill the slots for new connections.
// If these are full, the peer with the fewest new connections has priority.
type connectionPool struct {
	limits ConnectionLimits
	// newBytes is the number of bytes that a new connection may send.
	newBytes int64
	refused  *metrics.CounterVec

	mu sync.Mutex
	// pending are the new connections, the oldest first.
	pending  []*connection
	admitted int
	peers    map[netip.Prefix]*peer
	users    map[string]int
}

// peer counts the connections of one address. For IPv6, it counts those of one /64.
type peer struct{ pending, admitted int }

// The reasons for closing a connection.
const (
	reasonDisplaced = "displaced"
	reasonLate      = "late"
	reasonSize      = "size"
)

func newConnectionPool(limits ConnectionLimits, newBytes int64, registry metrics.KubeRegistry) *connectionPool {
	p := &connectionPool{
		limits: limits, newBytes: newBytes, peers: map[netip.Prefix]*peer{}, users: map[string]int{},
		refused: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_connections_refused_total",
			Help: "New connections that were closed, by reason: displaced (by a later one), late (no request was allowed in " +
				"time), size (too many bytes before a request was allowed).",
		}, []string{"reason"}),
	}
	registry.MustRegister(p.refused)
	return p
}

// enter gives a connection a slot for new connections. It rejects no connection, because its first
// request may be allowed. If there is no free slot, another new connection loses its slot and is
// closed.
func (p *connectionPool) enter(conn net.Conn) *connection {
	c := &connection{Conn: conn, pool: p, address: authn.ClientOf(conn.RemoteAddr().String())}
	p.mu.Lock()
	who := p.peers[c.address]
	if who == nil {
		who = &peer{}
		p.peers[c.address] = who
	}
	who.pending++
	last := p.makeSlotLocked(who)
	c.peer, c.slot = who, slotNew
	p.pending = append(p.pending, c)
	c.timer = time.AfterFunc(p.limits.NewTimeout, func() { p.end(c, reasonLate) })
	p.mu.Unlock()
	if last != nil {
		last.closeFor(reasonDisplaced)
	}
	return c
}

// makeSlotLocked may take the slot of another connection, which the caller must close. The new
// connection is already counted.
func (p *connectionPool) makeSlotLocked(newcomer *peer) (last *connection) {
	if newcomer.pending <= p.limits.NewPerAddress {
		if len(p.pending) < p.limits.New {
			return nil
		}
		for _, c := range p.pending {
			if c.peer.yieldsTo(newcomer) && (last == nil || c.peer.yieldsBefore(last.peer)) {
				last = c
			}
		}
	}
	if last == nil {
		own := slices.IndexFunc(p.pending, func(c *connection) bool { return c.peer == newcomer })
		last = p.pending[max(own, 0)]
	}
	p.removeLocked(last)
	return last
}

// yieldsTo reports whether a connection of p may lose its slot to a new connection of newcomer. It
// may in two cases. The newcomer has no more new connections than p, including the new one. Or a
// request of the newcomer was allowed, and none of p.
func (p *peer) yieldsTo(newcomer *peer) bool {
	return p != newcomer && (p.pending >= newcomer.pending || p.admitted == 0 && newcomer.admitted > 0)
}

func (p *peer) yieldsBefore(other *peer) bool {
	if stranger := p.admitted == 0; stranger != (other.admitted == 0) {
		return stranger
	}
	return p.pending > other.pending
}

// admit gives a connection one of the user's slots. It returns false if no slot is free.
func (p *connectionPool) admit(c *connection, user string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.slot != slotNew {
		return c.slot == slotAdmitted
	}
	if p.admitted >= p.limits.All || p.users[user] >= p.limits.PerUser {
		return false
	}
	c.peer.admitted++
	p.removeLocked(c)
	p.admitted++
	p.users[user]++
	c.slot, c.user = slotAdmitted, user
	c.admitted.Store(true)
	return true
}

// leave frees the slot of a closed connection.
func (p *connectionPool) leave(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(c)
}

// end closes a connection if it is still new.
func (p *connectionPool) end(c *connection, reason string) {
	p.mu.Lock()
	ends := c.slot == slotNew
	if ends {
		p.removeLocked(c)
	}
	p.mu.Unlock()
	if ends {
		c.closeFor(reason)
	}
}

func (p *connectionPool) removeLocked(c *connection) {
	switch c.slot {
	case slotNew:
		c.timer.Stop()
		i := slices.Index(p.pending, c)
		p.pending = slices.Delete(p.pending, i, i+1)
		c.peer.pending--
	case slotAdmitted:
		p.admitted--
		c.peer.admitted--
		if p.users[c.user]--; p.users[c.user] == 0 {
			delete(p.users, c.user)
		}
	case slotNone:
		return
	}
	c.slot = slotNone
	if c.peer.pending == 0 && c.peer.admitted == 0 {
		delete(p.peers, c.address)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
)

// room has the places of connections, for the listeners of all addresses. A new
// connection has one of few, and the place of another kind once a request over it
// was let through. What comes without rights can fill the first kind only, and there
// who has fewest new connections goes first.
type room struct {
	limits ConnectionLimits
	// newBytes is what a new connection may send.
	newBytes int64
	refused  *metrics.CounterVec

	mu sync.Mutex
	// fresh are the new connections, the oldest first.
	fresh []*connection
	letIn int
	peers map[netip.Prefix]*peer
	users map[string]int
}

// peer is who comes from one address; of IPv6, from one /64.
type peer struct{ fresh, letIn int }

// Why a connection is refused or ended.
const (
	displaced = "displaced"
	late      = "late"
	tooMuch   = "size"
)

func newRoom(limits ConnectionLimits, newBytes int64, registry metrics.KubeRegistry) *room {
	r := &room{
		limits: limits, newBytes: newBytes, peers: map[netip.Prefix]*peer{}, users: map[string]int{},
		refused: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_connections_refused_total",
			Help: "New connections that were closed: to make place for one that came later (displaced), or because no request " +
				"over them was let through in time (late) " +
				"or within the bytes for it (size).",
		}, []string{"reason"}),
	}
	registry.MustRegister(r.refused)
	return r
}

// enter gives a connection a place among the new ones. Nobody is turned away: who comes
// last may be the one who is let in.
func (r *room) enter(conn net.Conn) *connection {
	c := &connection{Conn: conn, room: r, address: authn.ClientOf(conn.RemoteAddr().String())}
	r.mu.Lock()
	who := r.peers[c.address]
	if who == nil {
		who = &peer{}
		r.peers[c.address] = who
	}
	who.fresh++
	last := r.makePlaceLocked(who)
	c.peer, c.place = who, isNew
	r.fresh = append(r.fresh, c)
	c.timer = time.AfterFunc(r.limits.NewTimeout, func() { r.end(c, late) })
	r.mu.Unlock()
	if last != nil {
		last.closeFor(displaced)
	}
	return c
}

// makePlaceLocked may take the place of another connection, which has to be closed. The
// newcomer is counted already.
func (r *room) makePlaceLocked(newcomer *peer) (last *connection) {
	if newcomer.fresh <= r.limits.NewPerAddress {
		if len(r.fresh) < r.limits.New {
			return nil
		}
		for _, c := range r.fresh {
			if c.peer.yieldsTo(newcomer) && (last == nil || c.peer.yieldsBefore(last.peer)) {
				last = c
			}
		}
	}
	if last == nil {
		own := slices.IndexFunc(r.fresh, func(c *connection) bool { return c.peer == newcomer })
		last = r.fresh[max(own, 0)]
	}
	r.removeLocked(last)
	return last
}

// yieldsTo: a newcomer who has no more new connections than these, with the one that
// comes, takes the place of one of them; so does one from where requests are let through.
func (p *peer) yieldsTo(newcomer *peer) bool {
	return p != newcomer && (p.fresh >= newcomer.fresh || p.letIn == 0 && newcomer.letIn > 0)
}

func (p *peer) yieldsBefore(other *peer) bool {
	if stranger := p.letIn == 0; stranger != (other.letIn == 0) {
		return stranger
	}
	return p.fresh > other.fresh
}

// admit gives a connection the place of one over which a request of the user was let
// through, if there is one.
func (r *room) admit(c *connection, user string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.place != isNew {
		return c.place == isLetIn
	}
	if r.letIn >= r.limits.All || r.users[user] >= r.limits.PerUser {
		return false
	}
	c.peer.letIn++
	r.removeLocked(c)
	r.letIn++
	r.users[user]++
	c.place, c.user = isLetIn, user
	c.letIn.Store(true)
	return true
}

// leave takes the place away from a connection that is closed.
func (r *room) leave(c *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeLocked(c)
}

// end closes a connection that is still new.
func (r *room) end(c *connection, reason string) {
	r.mu.Lock()
	ends := c.place == isNew
	if ends {
		r.removeLocked(c)
	}
	r.mu.Unlock()
	if ends {
		c.closeFor(reason)
	}
}

func (r *room) removeLocked(c *connection) {
	switch c.place {
	case isNew:
		c.timer.Stop()
		i := slices.Index(r.fresh, c)
		r.fresh = slices.Delete(r.fresh, i, i+1)
		c.peer.fresh--
	case isLetIn:
		r.letIn--
		c.peer.letIn--
		if r.users[c.user]--; r.users[c.user] == 0 {
			delete(r.users, c.user)
		}
	case hasNone:
		return
	}
	c.place = hasNone
	if c.peer.fresh == 0 && c.peer.letIn == 0 {
		delete(r.peers, c.address)
	}
}

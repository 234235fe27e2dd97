// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

var errTooMuch = errors.New("more was sent than a client needs to be let in")

// connection is a client's, with its place in the room.
type connection struct {
	net.Conn
	room    *room
	address netip.Prefix
	// letIn is true once a request was let through, received what came until then.
	letIn    atomic.Bool
	received atomic.Int64

	// The rest is guarded by room.mu.
	place standing
	peer  *peer
	user  string
	timer *time.Timer
}

// standing is where a connection is counted.
type standing int

const (
	hasNone standing = iota
	isNew
	isLetIn
)

// Read bounds what a client can have the proxy hold before it is let in: certificates,
// headers, requests that wait, and whatever HTTP/2 has.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.letIn.Load() && c.received.Add(int64(n)) > c.room.newBytes {
		c.room.end(c, tooMuch)
		return 0, errTooMuch
	}
	return n, err
}

// Close makes room.
func (c *connection) Close() error {
	c.room.leave(c)
	return c.Conn.Close()
}

// closeFor closes one that has no place any more.
func (c *connection) closeFor(reason string) {
	c.room.refused.WithLabelValues(reason).Inc()
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

// connectionOf is nil if the request did not come through the listener.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

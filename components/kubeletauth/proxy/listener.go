// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"net"
	"strconv"
	"time"

	"k8s.io/klog/v2"
)

const (
	// bindInterval is how often a port that is taken is tried again.
	bindInterval = time.Second
	// bindReminders are how many tries there are between two lines about it.
	bindReminders = 30
)

// bind listens, and tries until it can: the kubelet has the port until it has moved
// to loopback, and an address may come up later than the process.
func bind(ctx context.Context, host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	ticker := time.NewTicker(bindInterval)
	defer ticker.Stop()
	for try := 0; ; try++ {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err == nil {
			klog.FromContext(ctx).Info("Listening", "address", listener.Addr().String(), "tries", try+1)
			return listener, nil
		}
		if try%bindReminders == 0 {
			klog.FromContext(ctx).Info("Cannot listen yet; the kubelet may not have moved to loopback", "address", address,
				"error", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}

// gate gives connections their places.
type gate struct {
	net.Listener
	room *room
}

// Accept waits for a connection.
func (g gate) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return g.room.enter(&wire{Conn: conn}), nil
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Port is where requests go that no client library would send.
type Port struct {
	// Address is a host and a port.
	Address string
	// Node is the node whose kubelet is asked for there.
	Node string
	// Guarded is true where kubelet-auth-proxy answers, and not the kubelet itself.
	Guarded bool

	// roots are who signs the serving certificate; nil where nobody does.
	roots *x509.CertPool
	// pod is the proxy's, if Guarded: its name, or how it begins and a star. health is
	// its port on the loopback of the node.
	pod    string
	health int
}

// TLS is how a caller talks to the port.
func (p *Port) TLS(who Caller) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.roots}
	if p.roots == nil {
		// The kubelet of a plain cluster signs for itself.
		config.InsecureSkipVerify = true
	}
	if who.Certificate != nil {
		// Shown whether or not the other side names the CA that signed it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return who.Certificate, nil
		}
	}
	return config
}

// Dial opens a connection and shows the caller's certificate. Reading and writing end
// after the time that every request of a spec has.
func (p *Port) Dial(ctx context.Context, who Caller) (*Connection, error) {
	opened := time.Now()
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: oneRequest}, Config: p.TLS(who)}
	conn, err := dialer.DialContext(ctx, "tcp", p.Address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s of node %s: %w", p.Address, p.Node, err)
	}
	secured, ok := conn.(*tls.Conn)
	if !ok {
		return nil, fmt.Errorf("connecting to %s: a connection without TLS", p.Address)
	}
	if err := conn.SetDeadline(time.Now().Add(oneRequest)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Connection{Conn: secured, Reader: bufio.NewReader(conn), port: p, who: who, opened: opened}, nil
}

// Send makes one call over a connection of its own. Of an upgrade it sees that it is
// granted, and then hangs up.
func (p *Port) Send(ctx context.Context, who Caller, call Call) (Reply, error) {
	conn, err := p.Dial(ctx, who)
	if err != nil {
		return Reply{}, err
	}
	defer conn.Close() //nolint:errcheck // all has been read
	return conn.Send(call)
}

// clusterCA are who signs what the cluster serves with.
func (c *Cluster) clusterCA() (*x509.CertPool, error) {
	data := c.config.CAData
	if len(data) == 0 && c.config.CAFile != "" {
		var err error
		if data, err = os.ReadFile(c.config.CAFile); err != nil {
			return nil, fmt.Errorf("reading the cluster's CA: %w", err)
		}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, errors.New("reading the cluster's CA: the kubeconfig has none")
	}
	return pool, nil
}

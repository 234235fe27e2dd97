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

// Port is a TLS port that accepts requests byte for byte.
type Port struct {
	// Address is host and port.
	Address string
	// Node is the node whose kubelet serves this port.
	Node string
	// Guarded is true where kubelet-auth-proxy answers instead of the kubelet itself.
	Guarded bool

	// roots verify the serving certificate. nil means that it is self-signed.
	roots *x509.CertPool
	// pod is the name of the proxy's pod, or a prefix with a star, if Guarded. health is the
	// proxy's health port on the node's loopback address.
	pod    string
	health int
	// dial opens the connections. nil means that they leave from the suite.
	dial Dial
}

// From returns the port with connections that this function opens.
func (p *Port) From(dial Dial) *Port {
	other := *p
	other.dial = dial
	return &other
}

// TLS returns the TLS configuration of a caller for this port.
func (p *Port) TLS(who Caller) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.roots}
	if p.roots == nil {
		// The kubelet of a plain cluster has a self-signed certificate.
		config.InsecureSkipVerify = true
	}
	if who.Certificate != nil {
		// Present the certificate even if the server does not list the CA that signed it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return who.Certificate, nil
		}
	}
	return config
}

// Dial opens a connection and presents the caller's certificate. Reads and writes fail after the
// timeout of every spec request ([requestTimeout]).
func (p *Port) Dial(ctx context.Context, who Caller) (*Connection, error) {
	opened := time.Now()
	conn, err := p.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s of node %s: %w", p.Address, p.Node, err)
	}
	config := p.TLS(who)
	if config.ServerName, _, err = net.SplitHostPort(p.Address); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	secured := tls.Client(conn, config)
	if err := errors.Join(conn.SetDeadline(time.Now().Add(requestTimeout)), secured.HandshakeContext(ctx)); err != nil {
		return nil, fmt.Errorf("connecting to %s of node %s: %w", p.Address, p.Node, errors.Join(err, conn.Close()))
	}
	return &Connection{Conn: secured, Reader: bufio.NewReader(secured), port: p, who: who, opened: opened}, nil
}

func (p *Port) connect(ctx context.Context) (net.Conn, error) {
	if p.dial != nil {
		return p.dial(ctx)
	}
	return (&net.Dialer{Timeout: requestTimeout}).DialContext(ctx, "tcp", p.Address)
}

// Send makes one call on a new connection. For an upgrade, it returns the response and then closes
// the connection.
func (p *Port) Send(ctx context.Context, who Caller, call Call) (Reply, error) {
	conn, err := p.Dial(ctx, who)
	if err != nil {
		return Reply{}, err
	}
	defer conn.Close() //nolint:errcheck // all has been read
	return conn.Send(call)
}

// clusterCA returns the CA of the cluster's serving certificates.
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

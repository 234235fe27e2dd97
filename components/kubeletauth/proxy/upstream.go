// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	// answerTimeout is how long the kubelet may take to begin an answer: a checkpoint
	// of a large container takes minutes.
	answerTimeout = 10 * time.Minute
	// upstreamIdle is below the kubelet's own 90 s, so that it is never the kubelet
	// that closes a connection just when it is used again.
	upstreamIdle = 80 * time.Second
	maxIdle      = 128
	maxAnswer    = 64 << 10
	// formerFor is how long the kubelet may serve with the certificate before the
	// one on disk.
	formerFor = 5 * time.Minute
	// copyPatience is how long the certificate on disk may be behind the kubelet. It is
	// below the time for a handshake.
	copyPatience = 3 * time.Second
	rereadPause  = 100 * time.Millisecond
)

var errNotKubelet = errors.New(
	"what answers in the kubelet's place does not have the certificate that the kubelet has on disk")

// Upstream is the way to the kubelet. It speaks HTTP/1.1, with a connection for
// each request in flight: on one HTTP/2 connection, a client that does not read
// would hold up the others.
type Upstream struct {
	serving, client *Pair
	// patience is how long the kubelet may show a certificate that is not on disk yet.
	patience time.Duration
	// Ordinary and Upgrades are for [Config].
	Ordinary, Upgrades *renewable
}

// renewable is a transport that is replaced when the client certificate is. The kubelet
// authenticates each request by the certificate of its connection, and soon does not accept the
// former one: a connection that was in use meanwhile must not be used again.
type renewable struct {
	build   func() *http.Transport
	current atomic.Pointer[http.Transport]
}

func newRenewable(build func() *http.Transport) *renewable {
	r := &renewable{build: build}
	r.current.Store(build())
	return r
}

// RoundTrip implements [http.RoundTripper].
func (r *renewable) RoundTrip(req *http.Request) (*http.Response, error) {
	return r.current.Load().RoundTrip(req)
}

// renew lets requests in flight go on.
func (r *renewable) renew() { r.current.Swap(r.build()).CloseIdleConnections() }

// NewUpstream calls nobody. serving is the kubelet's own serving certificate: that
// very certificate is expected, whoever signed it, because a pod on the host's
// network can take the kubelet's port while the kubelet is away. client is what
// the proxy shows. Both are followed; no request begins on a connection with an old
// client certificate.
func NewUpstream(serving, client *Pair) *Upstream {
	u := &Upstream{serving: serving, client: client, patience: copyPatience}
	u.Ordinary = newRenewable(u.transport)
	u.Upgrades = newRenewable(u.upgrading)
	client.changed = append(client.changed, u.Ordinary.renew, u.Upgrades.renew)
	return u
}

// upgrading is for streams. Each uses one connection up. What stays is small while the stream is
// idle.
func (u *Upstream) upgrading() *http.Transport {
	transport := u.transport()
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: conn}, nil
	}
	transport.ReadBufferSize, transport.WriteBufferSize, transport.MaxIdleConnsPerHost = trickle, trickle, 1
	return transport
}

func (u *Upstream) transport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		// Proxy is nil: the environment has no say in where the kubelet is.
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:        u.tls(),
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  answerTimeout,
		IdleConnTimeout:        upstreamIdle,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		MaxResponseHeaderBytes: maxAnswer,
		// What the client accepts is between it and the kubelet.
		DisableCompression: true,
		Protocols:          protocols,
	}
}

func (u *Upstream) tls() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The certificate is for the node's names, not for loopback, and may be signed by
		// nobody: verify compares it with the one on disk instead.
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection is stricter: one certificate, not one CA
		VerifyConnection:   u.verify,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return u.client.Current(), nil
		},
	}
}

// verify accepts the certificate on disk, read again if need be, and for a while
// the one before. TLS has proved that the other side has its key.
func (u *Upstream) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errNotKubelet
	}
	shown := state.PeerCertificates[0].Raw
	if is(u.serving.Current(), shown) {
		return nil
	}
	if former := u.serving.former.Load(); former != nil && time.Since(former.until) < formerFor &&
		is(former.certificate, shown) {
		return nil
	}
	// The kubelet renews in memory and on disk at one time; what is read here may be a
	// copy, which is on its way.
	for waited := time.Duration(0); ; waited += rereadPause {
		u.serving.reread(context.Background())
		if is(u.serving.Current(), shown) {
			return nil
		}
		if waited >= u.patience {
			return errNotKubelet
		}
		time.Sleep(rereadPause)
	}
}

func is(certificate *tls.Certificate, leaf []byte) bool {
	return bytes.Equal(certificate.Certificate[0], leaf)
}

// Close closes connections that stand idle.
func (u *Upstream) Close() {
	u.Ordinary.current.Load().CloseIdleConnections()
	u.Upgrades.current.Load().CloseIdleConnections()
}

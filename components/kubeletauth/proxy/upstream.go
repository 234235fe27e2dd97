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
	// upstreamIdle is below the kubelet's own 90 s. So the kubelet does not close a connection at
	// the moment when the proxy reuses it.
	upstreamIdle = 80 * time.Second
	maxIdle      = 128
	maxAnswer    = 64 << 10
	// formerFor is how long the kubelet may serve with the previous certificate.
	formerFor = 5 * time.Minute
	// copyTimeout is how long the certificate on disk may be older than the kubelet's. It is
	// shorter than the handshake timeout.
	copyTimeout = 3 * time.Second
	rereadPause = 100 * time.Millisecond
)

var errNotKubelet = errors.New("the server at the kubelet's address does not have the kubelet's certificate on disk")

// Upstream calls the kubelet ([net/http.RoundTripper]). It uses HTTP/1.1, with one connection for
// each request in flight. On a shared HTTP/2 connection, a client that does not read would delay
// the others. Upstream is safe for concurrent use.
//
// When the client certificate is replaced, the transport is replaced too. The kubelet authenticates
// each request by the certificate of its connection, and soon rejects the previous certificate. So
// no request may begin on an older connection.
type Upstream struct {
	serving, client *Pair
	// copyTimeout is how long the kubelet may present a certificate that is not on disk yet.
	copyTimeout time.Duration
	// answerTimeout bounds the time until the kubelet begins to answer.
	answerTimeout time.Duration
	current       atomic.Pointer[http.Transport]
}

// NewUpstream does not call the kubelet. serving is the kubelet's own serving certificate. Upstream
// accepts only this certificate, whichever CA signed it, because a pod on the host network can take
// the kubelet's port while the kubelet is down. client is the proxy's client certificate. Upstream
// uses new versions of both when their files change. answerTimeout bounds the time until the kubelet
// begins to answer.
func NewUpstream(serving, client *Pair, answerTimeout time.Duration) *Upstream {
	u := &Upstream{serving: serving, client: client, copyTimeout: copyTimeout, answerTimeout: answerTimeout}
	u.current.Store(u.transport())
	client.changed = append(client.changed, func() { u.current.Swap(u.transport()).CloseIdleConnections() })
	return u
}

// RoundTrip implements [http.RoundTripper].
func (u *Upstream) RoundTrip(req *http.Request) (*http.Response, error) {
	return u.current.Load().RoundTrip(req)
}

func (u *Upstream) transport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		// Proxy is nil, because the environment must not change the address of the kubelet.
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:        u.tls(),
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  u.answerTimeout,
		IdleConnTimeout:        upstreamIdle,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		MaxResponseHeaderBytes: maxAnswer,
		// The client and the kubelet negotiate compression.
		DisableCompression: true,
		Protocols:          protocols,
	}
}

func (u *Upstream) tls() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The certificate is for the node's names, not for loopback, and may be self-signed. So
		// verify compares it with the certificate on disk instead.
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection is stricter: one certificate, not one CA
		VerifyConnection:   u.verify,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return u.client.Current(), nil
		},
	}
}

// verify accepts the certificate on disk, which it reloads if necessary. For a while it also
// accepts the previous one. TLS has proved that the server has the key.
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
	// The kubelet renews its certificate in memory and on disk at the same time. The file here may
	// be a copy that is written later.
	for waited := time.Duration(0); ; waited += rereadPause {
		u.serving.reread(context.Background())
		if is(u.serving.Current(), shown) {
			return nil
		}
		if waited >= u.copyTimeout {
			return errNotKubelet
		}
		time.Sleep(rereadPause)
	}
}

func is(certificate *tls.Certificate, leaf []byte) bool {
	return bytes.Equal(certificate.Certificate[0], leaf)
}

// Close closes idle connections.
func (u *Upstream) Close() {
	u.current.Load().CloseIdleConnections()
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
)

// maxHandshake bounds, in bytes, what a client sends for one: more than the
// certificates that [authn.CheckShown] lets pass.
const maxHandshake = 64 << 10

// listenerTLS is the TLS of the node's addresses. It follows the certificate and
// the client CA.
type listenerTLS struct {
	base   *tls.Config
	source ServerConfig
	named  atomic.Pointer[named]
}

// named is a configuration that names the CAs of a bundle.
type named struct {
	bundle []byte
	config *tls.Config
}

func newListenerTLS(source ServerConfig) *listenerTLS {
	return &listenerTLS{source: source, base: &tls.Config{
		MinVersion:   source.MinVersion,
		CipherSuites: source.CipherSuites,
		// Asked for, not verified: who it is decides the authenticator, for every request
		// and not once for a connection.
		ClientAuth: tls.RequestClientCert,
		// But a connection keeps what was shown for as long as it lasts.
		VerifyConnection: func(state tls.ConnectionState) error {
			return authn.CheckShown(state.PeerCertificates)
		},
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return source.Serving.Current(), nil
		},
	}}
}

func (l *listenerTLS) config() *tls.Config {
	config := l.base.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return l.current(), nil }
	return config
}

// current names the client CAs as they are now.
func (l *listenerTLS) current() *tls.Config {
	if l.source.ClientCA == nil {
		return l.base
	}
	bundle := l.source.ClientCA.CurrentCABundleContent()
	if last := l.named.Load(); last != nil && bytes.Equal(last.bundle, bundle) {
		return last.config
	}
	config := l.base.Clone()
	config.ClientCAs = x509.NewCertPool()
	config.ClientCAs.AppendCertsFromPEM(bundle)
	l.named.Store(&named{bundle: bundle, config: config})
	return config
}

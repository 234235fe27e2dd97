// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
)

const (
	// rereadInterval is how often files are read without a file event. A change of a symlink to a
	// directory causes no event.
	rereadInterval = 10 * time.Second
	// maxHandshake bounds, in bytes, the client's part of a handshake. It is larger than the
	// certificates that [authn.CheckShown] accepts.
	maxHandshake = 64 << 10
)

// Pair is a certificate with its key, reloaded when the files change. If the files do not parse, or
// do not match, the last valid pair stays in use. One file may contain both, like the kubelet's own
// (kubelet-server-current.pem). Pair is safe for concurrent use.
type Pair struct {
	content *dynamiccertificates.DynamicCertKeyPairContent
	current atomic.Pointer[tls.Certificate]
	// former is the previous pair, with the time at which it was replaced.
	former atomic.Pointer[formerPair]
	// changed are functions to call after a change.
	changed []func()
}

type formerPair struct {
	certificate *tls.Certificate
	until       time.Time
}

// LoadPair reads a pair. purpose is part of the error messages.
func LoadPair(purpose, certFile, keyFile string) (*Pair, error) {
	content, err := dynamiccertificates.NewDynamicServingContentFromFiles(purpose, certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the %s certificate: %w", purpose, err)
	}
	p := &Pair{content: content}
	content.AddListener(p)
	p.Enqueue()
	if p.current.Load() == nil {
		return nil, fmt.Errorf("reading the %s certificate: no certificate in %s", purpose, certFile)
	}
	return p, nil
}

// Enqueue implements [dynamiccertificates.Listener]. It is called after a change of the files.
func (p *Pair) Enqueue() {
	certificate, err := tls.X509KeyPair(p.content.CurrentCertKeyContent())
	if err != nil {
		return
	}
	if before := p.current.Swap(&certificate); before != nil {
		p.former.Store(&formerPair{certificate: before, until: time.Now()})
	}
	for _, changed := range p.changed {
		changed()
	}
}

// Current returns the pair in use.
func (p *Pair) Current() *tls.Certificate { return p.current.Load() }

// Expiry returns the time at which the certificate expires.
func (p *Pair) Expiry() (time.Time, bool) {
	data, _ := p.content.CurrentCertKeyContent()
	return serve.EarliestEnd(data)
}

// Run reloads the files until ctx is done.
func (p *Pair) Run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { p.content.Run(ctx, 1) })
	defer group.Wait()
	ticker := time.NewTicker(rereadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.reread(ctx)
		}
	}
}

func (p *Pair) reread(ctx context.Context) {
	if err := p.content.RunOnce(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Keeping the last valid certificate", "of", p.content.Name())
	}
}

// servingTLS returns a controller that reloads the serving certificate and the client CA.
func servingTLS(config ServerConfig) (*dynamiccertificates.DynamicServingCertificateController, error) {
	base := &tls.Config{
		MinVersion:   config.MinVersion,
		CipherSuites: config.CipherSuites,
		// The handshake does not verify client certificates. The authenticator verifies them for
		// every request, not only once for each connection.
		ClientAuth: tls.RequestClientCert,
		// The handshake bounds their size, because a connection keeps them in memory.
		VerifyConnection: func(state tls.ConnectionState) error {
			return authn.CheckShown(state.PeerCertificates)
		},
		NextProtos: []string{"h2", "http/1.1"},
	}
	controller := dynamiccertificates.NewDynamicServingCertificateController(base, config.ClientCA,
		config.Serving.content, nil, nil)
	config.Serving.content.AddListener(controller)
	if config.ClientCA != nil {
		config.ClientCA.AddListener(controller)
	}
	if err := controller.RunOnce(); err != nil {
		return nil, fmt.Errorf("cannot prepare TLS: %w", err)
	}
	return controller, nil
}

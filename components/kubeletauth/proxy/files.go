// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
)

// rereadInterval is how often files are read without an event: swapping a symlinked
// directory raises none.
const rereadInterval = 10 * time.Second

// Pair is a certificate and its key, as they are on disk. Files that do not parse,
// or do not belong together, leave the last good ones in use. Both may be one file,
// as the kubelet's own are (kubelet-server-current.pem).
type Pair struct {
	content *dynamiccertificates.DynamicCertKeyPairContent
	current atomic.Pointer[tls.Certificate]
	// former is the one before, with the time at which it was replaced.
	former atomic.Pointer[formerly]
	// changed is called when there is another one.
	changed []func()
}

type formerly struct {
	certificate *tls.Certificate
	until       time.Time
}

// LoadPair reads a pair. purpose is for errors.
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

// Enqueue is called when the files have changed
// ([dynamiccertificates.Listener]).
func (p *Pair) Enqueue() {
	certificate, err := tls.X509KeyPair(p.content.CurrentCertKeyContent())
	if err != nil {
		return
	}
	if before := p.current.Swap(&certificate); before != nil {
		p.former.Store(&formerly{certificate: before, until: time.Now()})
	}
	for _, changed := range p.changed {
		changed()
	}
}

// Current is the pair in use.
func (p *Pair) Current() *tls.Certificate { return p.current.Load() }

// Expiry is when the certificate ends.
func (p *Pair) Expiry() (time.Time, bool) {
	data, _ := p.content.CurrentCertKeyContent()
	return serve.EarliestEnd(data)
}

// Run follows the files until ctx is done.
func (p *Pair) Run(ctx context.Context) {
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		p.content.Run(ctx, 1)
	}()
	defer func() { <-watching }()
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
		klog.FromContext(ctx).Error(err, "Keeping the last good certificate", "of", p.content.Name())
	}
}

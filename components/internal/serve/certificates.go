// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"
)

// rereadInterval is how often the files are read without a file event. A change of a symlink to a
// directory causes no event.
const rereadInterval = 10 * time.Second

// certificates contains the TLS configuration for the current files.
type certificates struct {
	pair         *dynamiccertificates.DynamicCertKeyPairContent
	clientCA     *dynamiccertificates.DynamicFileCAContent
	controller   *dynamiccertificates.DynamicServingCertificateController
	allowedNames []string
	// lastClient is the certificate of the last client.
	lastClient atomic.Pointer[x509.Certificate]
}

func loadCertificates(config Config) (*certificates, error) {
	pair, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving", config.CertFile, config.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	clientCA, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", config.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the client CA: %w", err)
	}
	c := &certificates{pair: pair, clientCA: clientCA, allowedNames: config.AllowedClientNames}
	base := &tls.Config{
		MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: []string{"h2", "http/1.1"},
		// A resumed session would not be checked against a client CA that has changed since.
		SessionTicketsDisabled: true,
		VerifyConnection:       c.verifyName,
	}
	c.controller = dynamiccertificates.NewDynamicServingCertificateController(base, clientCA, pair, nil, nil)
	pair.AddListener(c.controller)
	clientCA.AddListener(c.controller)
	if err := c.controller.RunOnce(); err != nil {
		return nil, fmt.Errorf("preparing TLS: %w", err)
	}
	return c, nil
}

func (c *certificates) tlsConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: c.controller.GetConfigForClient}
}

// verifyName fails the handshake of a client whose certificate is signed by the right CA, but for
// another purpose.
func (c *certificates) verifyName(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("client showed no certificate")
	}
	leaf := state.PeerCertificates[0]
	if !slices.Contains(c.allowedNames, leaf.Subject.CommonName) {
		return fmt.Errorf("client %q is not one of those allowed", leaf.Subject.CommonName)
	}
	c.lastClient.Store(leaf)
	return nil
}

// run watches the files until ctx is done. It returns after all its goroutines have ended.
func (c *certificates) run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { c.pair.Run(ctx, 1) })
	group.Go(func() { c.clientCA.Run(ctx, 1) })
	group.Go(func() { c.controller.Run(1, ctx.Done()) })
	group.Go(func() { wait.UntilWithContext(ctx, c.reread, rereadInterval) })
	group.Wait()
}

func (c *certificates) reread(ctx context.Context) {
	if err := errors.Join(c.pair.RunOnce(ctx), c.clientCA.RunOnce(ctx)); err != nil {
		klog.FromContext(ctx).Error(err, "Keeping the last good certificates")
	}
}

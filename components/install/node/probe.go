// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

const kubeletAddress = "127.0.0.1:10250"

// Closed sends requests to the kubelet on loopback, with and without the certificate.
func (h LocalHost) Closed(ctx context.Context, client pki.Pair, clients LoopbackClients) error {
	roots, err := h.clusterCA()
	if err != nil {
		return err
	}
	want := expected{clients: clients, clientCA: clients.clientCAFile(h.Layout)}
	return closed(ctx, kubeletAddress, client, want, roots, "system:node:"+h.Layout.NodeName())
}

// Accepts sends a request to the kubelet on loopback. The kubelet authenticates first, so only
// status 401 means that it rejects the certificate. Every other status depends on the API server.
func (h LocalHost) Accepts(ctx context.Context, client tls.Certificate) error {
	roots, err := h.clusterCA()
	if err != nil {
		return err
	}
	return accepts(ctx, kubeletAddress, client, roots, "system:node:"+h.Layout.NodeName())
}

// ProxyServes sends a request to the proxy without a certificate or token.
func (h LocalHost) ProxyServes(ctx context.Context, address string) error {
	roots, err := h.clusterCA()
	if err != nil {
		return err
	}
	return refused(ctx, address, servedBy(roots, "system:node:"+h.Layout.NodeName()))
}

func (h LocalHost) clusterCA() (*x509.CertPool, error) {
	file := (&Installer{Layout: h.Layout}).proxyClientCA()
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s has no certificate in it", file)
	}
	return roots, nil
}

// expected are the settings that a kubelet on loopback must run with.
type expected struct {
	clients  LoopbackClients
	clientCA string
}

func closed(ctx context.Context, address string, client pki.Pair, want expected, roots *x509.CertPool,
	kubelet string) error {
	config := servedBy(roots, kubelet)
	// With LoopbackAllow, the node's own configuration may allow anonymous requests.
	if want.clients != LoopbackAllow {
		if err := refused(ctx, address, config); err != nil {
			return err
		}
	}
	certificate, err := tls.LoadX509KeyPair(client.CertFile, client.KeyFile)
	if err != nil {
		return err
	}
	status, body, err := getTLS(ctx, address, "/configz", showing(config, certificate))
	switch {
	case err != nil:
		return err
	case status == http.StatusForbidden:
		return fmt.Errorf("the kubelet does not let the proxy in (has `bulkhead install` run on a control-plane host?): %s",
			body)
	case status != http.StatusOK:
		return fmt.Errorf("the kubelet answers the proxy %d: %s", status, body)
	}
	return configured(body, want)
}

func accepts(ctx context.Context, address string, client tls.Certificate, roots *x509.CertPool, kubelet string) error {
	status, _, err := getTLS(ctx, address, "/healthz", showing(servedBy(roots, kubelet), client))
	if err == nil && status == http.StatusUnauthorized {
		err = errors.New("the kubelet answers 401")
	}
	return err
}

// showing always sends the client certificate, even if the kubelet does not list its authority. The
// kubelet may list the authorities that were in its clientCAFile when it started.
func showing(config *tls.Config, client tls.Certificate) *tls.Config {
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &client, nil }
	return config
}

// refused succeeds if a request without credentials gets status 401.
func refused(ctx context.Context, address string, config *tls.Config) error {
	status, _, err := getTLS(ctx, address, "/configz", config)
	if err == nil && status != http.StatusUnauthorized {
		err = fmt.Errorf("%s answers %d, not 401, to a request without a certificate or a token", address, status)
	}
	return err
}

// configured checks that no other drop-in or flag overrides the drop-in of Bulkhead.
func configured(configz string, want expected) error {
	var running struct {
		KubeletConfig struct {
			Address            string
			ServerTLSBootstrap bool
			Authentication     struct {
				Anonymous, Webhook struct{ Enabled bool }
				X509               struct{ ClientCAFile string }
			}
			Authorization struct{ Mode string }
		}
	}
	if err := json.Unmarshal([]byte(configz), &running); err != nil {
		return fmt.Errorf("reading the kubelet's /configz: %w", err)
	}
	c, allow := running.KubeletConfig, want.clients == LoopbackAllow
	for what, right := range map[string]bool{
		"address": c.Address == "127.0.0.1", "serverTLSBootstrap": c.ServerTLSBootstrap,
		"authentication.anonymous":         allow || !c.Authentication.Anonymous.Enabled,
		"authentication.webhook":           allow || !c.Authentication.Webhook.Enabled,
		"authentication.x509.clientCAFile": c.Authentication.X509.ClientCAFile == want.clientCA,
		"authorization.mode":               allow || c.Authorization.Mode == "Webhook",
	} {
		if !right {
			return fmt.Errorf("the kubelet runs with another %s than the one in the drop-in of Bulkhead", what)
		}
	}
	return nil
}

// servedBy accepts the serving certificate of one kubelet, at any address. No certificate contains
// the loopback address.
func servedBy(roots *x509.CertPool, kubelet string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it instead, but for the name of the host
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errors.New("it shows no certificate")
			}
			leaf, between := state.PeerCertificates[0], x509.NewCertPool()
			for _, cert := range state.PeerCertificates[1:] {
				between.AddCert(cert)
			}
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between}); err != nil {
				return fmt.Errorf("its serving certificate is not from the cluster: %w", err)
			}
			if leaf.Subject.CommonName != kubelet {
				return fmt.Errorf("its serving certificate is that of %q", leaf.Subject.CommonName)
			}
			return nil
		},
	}
}

func getTLS(ctx context.Context, address, path string, config *tls.Config) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+path, nil)
	if err != nil {
		return 0, "", err
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, strings.TrimSpace(string(data)), err
}

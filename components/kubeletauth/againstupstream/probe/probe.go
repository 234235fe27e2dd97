// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package probe asks a kubelet from its own host, through kubelet-auth-proxy and on
// loopback. It is what is put on the host, so it needs little.
package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/load"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// Way is one of two ways to a kubelet, with the client certificate for it.
type Way struct{ Address, CertFile, KeyFile string }

// Probe asks a kubelet from its own host.
type Probe struct {
	Proxy, Direct Way
	Paths         []string
	Runs          int
	Turn          time.Duration
}

// Took is what a path took, run by run, in microseconds.
type Took struct {
	Path string `json:"path"`
	// Bytes is how large the last answer was.
	Bytes         int64         `json:"bytes"`
	Proxy, Direct report.Sample // p50
}

var errAnswer = errors.New("not the kubelet's answer")

// Run asks on both ways in turn, one request after the other.
func (p Probe) Run(ctx context.Context) ([]Took, error) {
	proxy, err := p.Proxy.client()
	if err != nil {
		return nil, err
	}
	direct, err := p.Direct.client()
	if err != nil {
		return nil, err
	}
	var all []Took
	for _, path := range p.Paths {
		took := Took{Path: path}
		// The first turn has the connections made.
		for run := range p.Runs + 1 {
			for _, way := range []struct {
				Way
				client *http.Client
				to     *report.Sample
			}{{p.Proxy, proxy, &took.Proxy}, {p.Direct, direct, &took.Direct}} {
				sample, _, err := load.ClosedLoop(ctx, 1, p.Turn, func(ctx context.Context, _ int) (err error) {
					took.Bytes, err = get(ctx, way.client, "https://"+way.Address+path)
					return err
				})
				if err != nil {
					return nil, err
				}
				if run > 0 {
					*way.to = append(*way.to, sample.Percentile(50))
				}
			}
		}
		all = append(all, took)
	}
	return all, nil
}

func (w Way) client() (*http.Client, error) {
	pair, err := tls.LoadX509KeyPair(w.CertFile, w.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("reading a client certificate: %w", err)
	}
	return &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, DisableCompression: true,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
			// The kubelet may have signed its certificate itself.
			InsecureSkipVerify: true, //nolint:gosec // nothing is sent but requests for what is measured
		},
	}}, nil
}

func get(ctx context.Context, client *http.Client, url string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	n, err := io.Copy(io.Discard, answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %w: %s", url, errAnswer, answer.Status)
	}
	return n, err
}

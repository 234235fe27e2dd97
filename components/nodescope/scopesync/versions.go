// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package seen asks a component on this host up to which resource version it has seen
// ServiceAccounts and pods: what an annotation says is in force when it has seen that.
//
// The component answers on its health port, on loopback and without authentication. A
// process on the host can answer in its place only while the component does not run, and
// then the API server denies every request that it would ask the component about.
package scopesync

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// The resources of which the versions are asked.
const serviceAccounts, pods = "serviceaccounts", "pods"

const (
	// SeenPath is where components answer.
	SeenPath = "/resource-versions"
	// timeout bounds one question, so that a component that hangs does not stop the rest.
	timeout = time.Second
	// maxSeenBytes bounds an answer, which is one line.
	maxSeenBytes = 4 << 10
)

// SeenVersions are the newest resource versions that were seen, by resource.
type SeenVersions map[string]string

// Includes reports whether the version of the resource has been seen. No version at all has
// been. It is false for versions that cannot be compared.
func (v SeenVersions) Includes(resource, version string) bool {
	if version == "" {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(v[resource], version)
	return err == nil && order >= 0
}

// SeenHandler answers with what the component has seen.
func SeenHandler(versions func() SeenVersions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(versions()) // a caller that has gone needs no answer
	})
}

// SeenClient asks one component. Use [NewSeenClient]. It is safe for concurrent use.
type SeenClient struct {
	url  string
	http *http.Client
}

// NewSeenClient returns a client of the component with that base URL, which has to be HTTP at a
// loopback address.
func NewSeenClient(base string) (*SeenClient, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("reading the URL: %w", err)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "http" || ip == nil || !ip.IsLoopback() || u.Port() == "" {
		return nil, fmt.Errorf("%q is not http://ADDRESS:PORT with a loopback address", base)
	}
	// No proxy, no redirect: it is a port on this host.
	return &SeenClient{u.JoinPath(SeenPath).String(), &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       timeout,
	}}, nil
}

// Ask returns what the component has seen.
func (c *SeenClient) Ask(ctx context.Context) (SeenVersions, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", c.url, response.Status)
	}
	var v SeenVersions
	if err := json.NewDecoder(io.LimitReader(response.Body, maxSeenBytes)).Decode(&v); err != nil {
		return nil, fmt.Errorf("GET %s: %w", c.url, err)
	}
	return v, nil
}

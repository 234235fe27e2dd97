// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

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

// The resources whose versions are compared.
const serviceAccounts, pods = "serviceaccounts", "pods"

const (
	// SeenPath is the path on which components answer.
	SeenPath = "/resource-versions"
	// timeout is the timeout of one request, so that a component that hangs does not stop the
	// turn.
	timeout = time.Second
	// maxSeenBytes is the maximum size of an answer, which is one line.
	maxSeenBytes = 4 << 10
)

// SeenVersions are the newest resource versions of ServiceAccounts and pods that a component
// has seen, by resource. An annotation is in force in the component when it has seen the
// version with the annotation.
type SeenVersions map[string]string

// Includes reports whether the version of the resource has been seen. It is true for an empty
// version, and false for versions that cannot be compared.
func (v SeenVersions) Includes(resource, version string) bool {
	if version == "" {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(v[resource], version)
	return err == nil && order >= 0
}

// SeenHandler answers with the versions that the component has seen.
func SeenHandler(versions func() SeenVersions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(versions()) // an error means that the client is gone
	})
}

// SeenClient asks one component which versions it has seen. Use [NewSeenClient]. It is safe for
// concurrent use.
//
// The component answers on its health port, on loopback and without authentication. Another
// process on the host can answer in its place only while the component does not run. During
// that time, the API server denies every request that it would send to the component.
type SeenClient struct {
	url  string
	http *http.Client
}

// NewSeenClient returns a client of the component with that base URL. It returns an error if
// the URL is not HTTP at a loopback address with a port.
func NewSeenClient(base string) (*SeenClient, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("reading the URL: %w", err)
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "http" || ip == nil || !ip.IsLoopback() || u.Port() == "" {
		return nil, fmt.Errorf("%q is not http://ADDRESS:PORT with a loopback address", base)
	}
	// A proxy or a redirect would lead to another host.
	return &SeenClient{u.JoinPath(SeenPath).String(), &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       timeout,
	}}, nil
}

// Ask returns the versions that the component has seen.
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

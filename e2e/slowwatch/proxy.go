// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// newProxy forwards requests to the target. It delays the events of a watch. The header of a watch,
// and all other answers, arrive at once.
func newProxy(target *url.URL, transport http.RoundTripper, delay time.Duration) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = target.Host
		},
		Transport: transport,
		// A watch has no Content-Length, so ReverseProxy flushes its events at once.
		ModifyResponse: func(response *http.Response) error {
			if isWatch(response.Request.URL) && response.StatusCode == http.StatusOK {
				response.Body = newLate(response.Body, delay)
			}
			return nil
		},
	}
}

func isWatch(u *url.URL) bool {
	watch := u.Query().Get("watch")
	return watch == "true" || watch == "1"
}

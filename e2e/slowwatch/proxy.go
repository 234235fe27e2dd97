// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// newProxy passes requests on to the target. What a watch brings arrives later by
// the delay; its header, and all other answers, arrive at once.
func newProxy(target *url.URL, transport http.RoundTripper, delay time.Duration) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = target.Host
		},
		Transport: transport,
		// A watch has no length, so what it brings is passed on as it comes.
		ModifyResponse: func(response *http.Response) error {
			if isWatch(response.Request.URL) && response.StatusCode == http.StatusOK {
				response.Body = holdBack(response.Body, delay)
			}
			return nil
		},
	}
}

func isWatch(u *url.URL) bool {
	watch := u.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// errRedirect is an answer that must not be followed by anybody.
var errRedirect = errors.New("the kubelet answered with a redirect")

// checkRedirect lets through only redirects to the same place. Whoever owns a node can
// make the kubelet redirect the API server, with its credentials, to another one
// (CVE-2020-8559). The kubelet itself redirects only to spell a path as it likes:
// /logs to /logs/, /logs/pods to /logs/pods/, and a file back from its slash (net/http
// ServeMux and FileServer). Following that is a new request, which is decided on anew.
func checkRedirect(answer *http.Response) error {
	if answer.StatusCode < 300 || answer.StatusCode > 399 || answer.StatusCode == http.StatusNotModified {
		return nil
	}
	if _, upgrade := answer.Request.Header["Upgrade"]; upgrade ||
		!samePlace(answer.Request.URL, answer.Header["Location"]) {
		return errRedirect
	}
	return nil
}

// samePlace is true for one location without a host, whoever reads it, that is from
// with another spelling of its end: a slash more or less, or index.html less. Browsers
// take a backslash for a slash.
func samePlace(from *url.URL, locations []string) bool {
	if len(locations) != 1 {
		return false
	}
	location := locations[0]
	if location == "" || strings.HasPrefix(location, "//") || strings.ContainsAny(location, "\\\t\r\n") {
		return false
	}
	to, err := url.Parse(location)
	if err != nil || to.Scheme != "" || to.Host != "" || to.User != nil || to.Opaque != "" || to.Fragment != "" ||
		to.RawQuery != "" && to.RawQuery != from.RawQuery {
		return false
	}
	before, after := from.EscapedPath(), from.ResolveReference(to).EscapedPath()
	if directory, file := path.Split(before); file == "index.html" && after == directory {
		return true
	}
	return after != before && strings.TrimSuffix(after, "/") == strings.TrimSuffix(before, "/")
}

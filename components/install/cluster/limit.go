// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"net/http"
	"regexp"

	"k8s.io/client-go/rest"
)

// mostAnswer bounds the answer of a kubelet, in bytes. A real configuration has about 5 kB, and a page of
// metrics some 100 kB. A longer one is cut, so it cannot be decoded.
const mostAnswer = 4 << 20

// byKubelet matches the paths that the API server passes on to a kubelet.
var byKubelet = regexp.MustCompile(`/api/v1/nodes/[^/]+/proxy(/|$)`)

// LimitKubelets makes clients of this configuration read at most 4 MiB of an answer by a kubelet, with every
// status, and ask it for no compression. A compromised kubelet chooses its answer, and client-go reads all of
// an error.
func LimitKubelets(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return kubeletLimit{next} })
}

type kubeletLimit struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l kubeletLimit) RoundTrip(r *http.Request) (*http.Response, error) {
	if !byKubelet.MatchString(r.URL.Path) {
		return l.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	// net/http decompresses only what it has requested itself.
	r.Header.Set("Accept-Encoding", "identity")
	answer, err := l.next.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, mostAnswer), answer.Body}
	}
	return answer, err
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Paths of the kubelet. The first two return bodies of a fixed size. The third is a stream, in any
// namespace: see [In].
const (
	Small  = "/metrics/resource"
	Large  = "/stats/summary"
	Stream = "/exec/{namespace}/pod/container"
)

// Sizes of the two bodies, in bytes.
const (
	SmallBytes = 2 << 10
	LargeBytes = 40 << 10
)

// In returns a path with this namespace.
func In(path, namespace string) string { return strings.Replace(path, "{namespace}", namespace, 1) }

// Kubelet answers GET of [Small] and [Large], and an upgrade on [Stream]. A stream sends the number
// of bytes in the query, for example "bytes=1000", and ends. Without "bytes" it sends nothing and
// waits until the client ends it.
func Kubelet() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+Small, body(SmallBytes))
	mux.Handle("GET "+Large, body(LargeBytes))
	mux.HandleFunc("POST "+Stream, stream)
	return mux
}

func body(size int) http.Handler {
	text := bytes.Repeat([]byte("container_cpu_usage_seconds_total 1\n"), size/36+1)[:size]
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(text)
	})
}

// pieceBytes is the size that a container runtime copies at once.
const pieceBytes = 32 << 10

// stream upgrades to a stream without frames, because the proxies do not parse the stream.
func stream(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", req.Header.Get("Upgrade"))
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	size, err := strconv.Atoi(req.URL.Query().Get("bytes"))
	if err != nil {
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	piece := make([]byte, pieceBytes)
	for ; size > 0 && err == nil; size -= pieceBytes {
		_, err = conn.Write(piece[:min(pieceBytes, size)])
	}
}

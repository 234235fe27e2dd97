// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
)

// Paths of the kubelet. The first two are bodies of a fixed size.
const (
	Small  = "/metrics/resource"
	Large  = "/stats/summary"
	Logs   = "/containerLogs/namespace/pod/container"
	Stream = "/exec/namespace/pod/container"
)

// Sizes of the two bodies, in bytes.
const (
	SmallBytes = 2 << 10
	LargeBytes = 40 << 10
)

// Kubelet answers like one: GET of [Small] and [Large], GET of [Logs], which is as
// long and as fast as its query says ([Flow]), and an upgrade on [Stream].
func Kubelet() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+Small, body(SmallBytes))
	mux.Handle("GET "+Large, body(LargeBytes))
	mux.HandleFunc("GET "+Logs, logs)
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

func logs(w http.ResponseWriter, req *http.Request) {
	flow, err := parseFlow(req.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	// As the kubelet does for logs that are followed.
	control := http.NewResponseController(w)
	_ = flow.send(func(piece []byte) error {
		if _, err := w.Write(piece); err != nil {
			return err
		}
		return control.Flush()
	})
}

// Flow is how much is sent, and how fast.
type Flow struct {
	Bytes int64
	// PerSecond is a rate in bytes; 0 is as fast as it goes.
	PerSecond int64
}

// Query is the flow as the query of a path.
func (f Flow) Query() string {
	return url.Values{"bytes": {strconv.FormatInt(f.Bytes, 10)}, "rate": {strconv.FormatInt(f.PerSecond, 10)}}.Encode()
}

func parseFlow(query url.Values) (f Flow, err error) {
	if f.Bytes, err = strconv.ParseInt(query.Get("bytes"), 10, 64); err != nil {
		return f, err
	}
	f.PerSecond, err = strconv.ParseInt(query.Get("rate"), 10, 64)
	return f, err
}

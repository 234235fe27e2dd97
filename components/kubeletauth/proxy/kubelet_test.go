// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/gorilla/websocket"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// streaming is a fake kubelet with streams. SPDY streams and websockets echo until the client
// closes its half. Logs are followed while the test adds lines.
type streaming struct {
	t testing.TB
	// lines are the lines of /containerLogs.
	lines chan string
	// silent receives the context of each request that gets no answer.
	silent chan context.Context
}

func newStreaming(t testing.TB) *streaming {
	return &streaming{t: t, lines: make(chan string), silent: make(chan context.Context, 1)}
}

func (s *streaming) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.URL.Path == "/containerLogs/ns/pod/c":
		s.follow(w, req)
	case req.URL.Path == "/exec/ns/silent/c":
		s.silent <- req.Context()
		<-req.Context().Done()
	case req.URL.Path == "/exec/ns/raw/c":
		s.raw(w)
	case httpstream.IsUpgradeRequest(req) && req.Header.Get("Upgrade") == spdy.HeaderSpdy31:
		s.spdy(w, req)
	case httpstream.IsUpgradeRequest(req):
		s.websocket(w, req)
	default:
		fmt.Fprint(w, "not a stream")
	}
}

func (s *streaming) follow(w http.ResponseWriter, req *http.Request) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case line, more := <-s.lines:
			if !more {
				return
			}
			fmt.Fprintln(w, line)
			_ = http.NewResponseController(w).Flush()
		case <-req.Context().Done():
			return
		}
	}
}

// spdy echoes each stream until the client closes its half, and then answers.
func (s *streaming) spdy(w http.ResponseWriter, req *http.Request) {
	streams := make(chan httpstream.Stream, 10)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, req, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	for {
		select {
		case stream := <-streams:
			go func() {
				_, _ = io.Copy(stream, stream)
				fmt.Fprint(stream, " and the end")
				_ = stream.Close()
			}()
		case <-conn.CloseChan():
			return
		}
	}
}

func (s *streaming) websocket(w http.ResponseWriter, req *http.Request) {
	upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}}
	conn, err := upgrader.Upgrade(w, req, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if conn.WriteMessage(kind, message) != nil {
			return
		}
	}
}

// raw reads until the client has closed its half of the connection, and only then answers.
func (s *streaming) raw(w http.ResponseWriter) {
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "SPDY/3.1")
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.t.Error(err)
		return
	}
	defer conn.Close()
	read, err := io.ReadAll(rw)
	fmt.Fprintf(conn, "read %q, %v", read, err)
}

// upgrade sends a request for an upgrade, and returns the connection after the headers of the
// answer. early is sent together with the request.
func (w *world) upgrade(path, early string) (net.Conn, *bufio.Reader, *http.Response) {
	w.t.Helper()
	conn := w.dial()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\nConnection: Upgrade\r\nUpgrade: "+
		"SPDY/3.1\r\n\r\n%s", path, early)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return conn, reader, response
}

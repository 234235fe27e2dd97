// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

func (w *world) dial() *tls.Conn { return w.dialFrom("127.0.0.1", w.admin()) }

// dialFrom connects from another loopback address.
func (w *world) dialFrom(address string, config *tls.Config) *tls.Conn {
	w.t.Helper()
	if len(config.NextProtos) == 0 {
		config.NextProtos = []string{"http/1.1"}
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}, Config: config}
	raw, err := dialer.DialContext(w.t.Context(), "tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	conn, _ := raw.(*tls.Conn)
	_ = conn.SetDeadline(time.Now().Add(60 * time.Second))
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (w *world) spdy(path string) httpstream.Connection {
	w.t.Helper()
	transport, err := spdy.NewRoundTripper(w.admin())
	if err != nil {
		w.t.Fatal(err)
	}
	req, _ := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "https://"+w.address+path, nil)
	response, err := transport.RoundTrip(req)
	if err != nil {
		w.t.Fatal(err)
	}
	conn, err := transport.NewConnection(response)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (w *world) websocket(path string, protocols ...string) (*websocket.Conn, *http.Response, error) {
	dialer := websocket.Dialer{TLSClientConfig: w.admin(), Subprotocols: protocols}
	conn, response, err := dialer.DialContext(w.t.Context(), "wss://"+w.address+path, nil)
	if err == nil {
		w.t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, response, err
}

// Two streams share one SPDY connection. One is half-closed and still gets its answer.
func TestSPDY(t *testing.T) {
	w := start(t, newStreaming(t), nil)
	conn := w.spdy("/exec/ns/pod/c?command=cat")
	for _, text := range []string{"one", strings.Repeat("two", 50_000)} {
		stream, err := conn.CreateStream(http.Header{"Streamtype": {"stdin"}})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.WriteString(stream, text)
			_ = stream.Close()
		}()
		back, err := io.ReadAll(stream)
		if err != nil || string(back) != text+" and the end" {
			t.Errorf("%d bytes came back (%v), want %d", len(back), err, len(text)+len(" and the end"))
		}
	}
	_ = conn.Close()
	lines := w.await(2)
	begin, end := lines[0], lines[1]
	if begin.Stage != "begin" || end.Stage != "end" || begin.ID != end.ID || end.Status != 101 || end.Pod != "pod" ||
		end.Namespace != "ns" ||
		end.Container != "c" || end.Verb != "create" || end.Subresource != "exec" || end.User != "admin" ||
		end.Rule != "KA-EXEC-1" || !end.CacheHit {
		t.Errorf("lines %+v", lines)
	}
	if begin.BytesOut != 0 || end.BytesIn == 0 || end.BytesOut == 0 {
		t.Errorf("bytes in %d, out %d", end.BytesIn, end.BytesOut)
	}
}

func TestWebsockets(t *testing.T) {
	w := start(t, newStreaming(t), nil)
	conn, response, err := w.websocket("/exec/ns/pod/c?command=cat", "v5.channel.k8s.io")
	if err != nil || response.Header.Get(protocolHeader) != "v5.channel.k8s.io" {
		t.Fatalf("%v %+v", err, response)
	}
	for _, text := range []string{"one", strings.Repeat("two", 50_000)} {
		if err := conn.WriteMessage(websocket.BinaryMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, back, err := conn.ReadMessage(); err != nil || string(back) != text {
			t.Errorf("%d bytes came back (%v), want %d", len(back), err, len(text))
		}
	}
}

// The sub-protocol with a token is for the proxy. The other sub-protocol is for the kubelet.
func TestMalformedSubProtocols(t *testing.T) {
	w := start(t, newStreaming(t), nil)
	for _, tt := range []struct {
		name      string
		protocols []string
		chosen    string
	}{
		{"a token beside a protocol", []string{"base64url.bearer.authorization.k8s.io.dG9rZW4", "v4.channel.k8s.io"},
			"v4.channel.k8s.io"},
		{"token that is not base64", []string{"base64url.bearer.authorization.k8s.io.!!!!", "v4.channel.k8s.io"},
			"v4.channel.k8s.io"},
		{"only a token", []string{"base64url.bearer.authorization.k8s.io.dG9rZW4"}, ""},
	} {
		conn, response, err := w.websocket("/exec/ns/pod/c", tt.protocols...)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if chosen := response.Header.Get(protocolHeader); chosen != tt.chosen {
			t.Errorf("%s: %q is chosen, want %q", tt.name, chosen, tt.chosen)
		}
		_ = conn.Close()
	}
	for _, req := range w.reached() {
		if strings.Contains(req.Header.Get(protocolHeader), "bearer") {
			t.Errorf("the kubelet sees %v", req.Header)
		}
	}
}

// The client has closed its half, and the kubelet has not answered yet. The bytes that were sent
// with the request, before the answer, are not lost.
func TestHalfClosedConnections(t *testing.T) {
	w := start(t, newStreaming(t), nil)
	conn, reader, response := w.upgrade("/exec/ns/raw/c", "early ")
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("answered %s", response.Status)
	}
	fmt.Fprint(conn, "late")
	if err := conn.(*tls.Conn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	back, err := io.ReadAll(reader)
	if want := `read "early late", <nil>`; err != nil || string(back) != want {
		t.Errorf("%q came back (%v), want %q", back, err, want)
	}
	if end := w.await(2)[1]; end.BytesIn != 10 || end.BytesOut != int64(len(back)) {
		t.Errorf("counted %d in and %d out", end.BytesIn, end.BytesOut)
	}
}

// Every line of a followed log arrives as soon as it is written. The timeout of ordinary requests
// does not apply to it.
func TestLogsAreFlushedAtOnce(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprint("HTTP/2 ", http2), func(t *testing.T) {
			kubelet := newStreaming(t)
			// The timeout also applies to the handshake, which is slow on a busy machine.
			const bound = 5 * time.Second
			w := start(t, kubelet, func(s *settings) { s.requestTimeout = bound })
			response, err := w.client(w.admin(), http2).Get("https://" + w.address + "/containerLogs/ns/pod/c?follow=true")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			reader := bufio.NewReader(response.Body)
			for _, line := range []string{"one", "two", "three"} {
				kubelet.lines <- line
				if got, err := reader.ReadString('\n'); err != nil || got != line+"\n" {
					t.Errorf("read %q (%v), want %q", got, err, line)
				}
			}
			time.Sleep(bound + bound/4)
			kubelet.lines <- "late"
			close(kubelet.lines)
			if got, err := reader.ReadString('\n'); err != nil || got != "late\n" {
				t.Errorf("read %q (%v) after the bound on ordinary requests", got, err)
			}
			if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
				t.Errorf("read %q (%v) after the end", rest, err)
			}
		})
	}
}

// If a client requests an upgrade and disconnects, the proxy closes both connections, whether or
// not the kubelet has answered.
func TestIncompleteUpgrades(t *testing.T) {
	kubelet := newStreaming(t)
	w := start(t, kubelet, nil)
	conn := w.dial()
	fmt.Fprint(conn, "POST /exec/ns/silent/c HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\nConnection: "+
		"Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
	unanswered := <-kubelet.silent
	_ = conn.Close()
	select {
	case <-unanswered.Done():
	case <-time.After(20 * time.Second):
		t.Error("the kubelet still works for a client that is gone")
	}
	open, _, response := w.upgrade("/exec/ns/pod/c", "")
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("answered %s", response.Status)
	}
	// The network fails, so there is not even a TLS alert.
	_ = open.(*tls.Conn).NetConn().Close()
	if line := w.await(4)[3]; line.Stage != "end" {
		t.Errorf("line %+v", line)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"
)

// switching switches to a protocol, whatever it is asked for, and then waits for the
// end.
type switching string

func (s switching) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", string(s))
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.Copy(io.Discard, conn)
}

// The kubelet may switch to what was asked for, on a path that can last, and to nothing
// else.
func TestTheKubeletSwitchesToWhatWasAskedFor(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		to         switching
		want       int
	}{
		{"what was asked for", "/exec/ns/pod/c", "SPDY/3.1", http.StatusSwitchingProtocols},
		{"another protocol", "/exec/ns/pod/c", "websocket", http.StatusBadGateway},
		{"one that nobody knows", "/exec/ns/pod/c", "h2c", http.StatusBadGateway},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, tt.to, nil)
			conn, _, response := w.upgrade(tt.path, "")
			if response.StatusCode != tt.want {
				t.Errorf("answered %s, want %d", response.Status, tt.want)
			}
			_ = conn.Close()
			if end := w.await(2)[1]; end.Stage != "end" || end.Status != tt.want {
				t.Errorf("line %+v", end)
			}
		})
	}
}

// What an idle stream takes is two goroutines that wait, one for each way. The server's,
// with its buffers, is gone.
func TestAnIdleStreamHoldsLittle(t *testing.T) {
	w := start(t, newStreaming(t), nil)
	const streams = 10
	for range streams {
		if _, _, response := w.upgrade("/exec/ns/pod/c", ""); response.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("answered %s", response.Status)
		}
	}
	var ways, requests int
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if ways, requests = goroutinesIn("proxy.(*junction)."),
			goroutinesIn("proxy.(*Handler).ServeHTTP("); ways == 2*streams && requests == 0 {
			break
		}
	}
	if ways != 2*streams || requests != 0 {
		t.Errorf("%d goroutines copy and %d serve requests, want %d and none", ways, requests, 2*streams)
	}
}

// goroutinesIn counts those that are in a function.
func goroutinesIn(function string) (n int) {
	text := make([]byte, 8<<20)
	for one := range bytes.SplitSeq(text[:runtime.Stack(text, true)], []byte("\n\n")) {
		// Who started it is told, too.
		called, _, _ := bytes.Cut(one, []byte("\ncreated by "))
		if bytes.Contains(called, []byte(function)) {
			n++
		}
	}
	return n
}

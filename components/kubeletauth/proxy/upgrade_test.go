// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"
	"net/http"
	"testing"
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

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"
	"net/http"
	"slices"
	"testing"
)

// switching switches to this protocol, whatever the request asks for, and then waits for the end.
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

// The kubelet may switch only to the requested protocol, and only on a path with long-lived
// answers.
func TestKubeletSwitchesOnlyToTheRequestedProtocol(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		to         switching
		want       int
	}{
		{"requested protocol", "/exec/ns/pod/c", "SPDY/3.1", http.StatusSwitchingProtocols},
		{"another protocol", "/exec/ns/pod/c", "websocket", http.StatusBadGateway},
		{"unknown protocol", "/exec/ns/pod/c", "h2c", http.StatusBadGateway},
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

// pieces are returned by one read each. sizes are the sizes of the buffers.
type pieces struct {
	left, sizes []int
}

func (p *pieces) Read(buffer []byte) (int, error) {
	p.sizes = append(p.sizes, len(buffer))
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := min(p.left[0], len(buffer))
	p.left = p.left[1:]
	return n, nil
}

// An idle stream uses a small buffer. The limit of 96 KiB for a stream depends on it.
func TestStreamBuffersFollowTheTraffic(t *testing.T) {
	const small, large = idleBuffer, busyBuffer
	for _, tt := range []struct {
		name         string
		sends, sizes []int
	}{
		{"no byte: small", nil, []int{small}},
		{"little: stays small", []int{1, 100, small - 1}, []int{small, small, small, small}},
		{"much: grows", []int{small, large, large}, []int{small, large, large, large}},
		{"much, then little: shrinks", []int{small, large, 1, 1}, []int{small, large, large, small, small}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from, sum := &pieces{left: tt.sends}, 0
			for _, n := range tt.sends {
				sum += n
			}
			n, err := copyStream(io.Discard, from)
			if err != nil || n != int64(sum) || !slices.Equal(from.sizes, tt.sizes) {
				t.Errorf("copied %d bytes of %d with buffers %v, want %v; error %v", n, sum, from.sizes, tt.sizes, err)
			}
		})
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// What a stream does, the value of "do" in its query. Nothing is said until the
// client ends it; Send sends a [Flow] and ends; Receive takes all until the client has
// ended its half, and then says how many bytes it took.
const (
	Nothing = "nothing"
	Send    = "send"
	Receive = "receive"
)

// pieceBytes is what a container runtime copies at once.
const pieceBytes = 32 << 10

// send sends in pieces. One that is late is made up for by the next, so that the rate
// is kept if it can be.
func (f Flow) send(write func([]byte) error) error {
	piece := make([]byte, pieceBytes)
	start := time.Now()
	for sent := int64(0); sent < f.Bytes; sent += pieceBytes {
		if f.PerSecond > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(float64(sent) / float64(f.PerSecond) * float64(time.Second)))))
		}
		if err := write(piece[:min(pieceBytes, f.Bytes-sent)]); err != nil {
			return err
		}
	}
	return nil
}

// stream upgrades to a stream without frames: the proxies do not look into it.
func stream(w http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	flow, err := parseFlow(query)
	if err != nil && query.Get("do") == Send {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", req.Header.Get("Upgrade"))
	w.WriteHeader(http.StatusSwitchingProtocols)
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	switch query.Get("do") {
	case Send:
		_ = flow.send(func(piece []byte) error {
			_, err := conn.Write(piece)
			return err
		})
	case Receive:
		// Not ReadFrom and WriteTo: what is received is counted, not kept.
		n, _ := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{buffered}, make([]byte, pieceBytes))
		fmt.Fprintln(conn, n)
	default:
		_, _ = conn.Read(make([]byte, 1))
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

var (
	// errJoined has the reverse proxy leave alone what goes on without it.
	errJoined = errors.New("the stream goes on without the reverse proxy")
	// errSwitch is an answer to a question that was not asked.
	errSwitch = errors.New("the kubelet switched to a protocol that was not asked for")
)

type streamKey struct{}

// junction is a client's connection and the kubelet's, and what copies between them. The
// reverse proxy would do as much, but would hold the request's goroutine, with its stack
// and the server's buffers, and two more goroutines for as long as the stream lasts.
type junction struct {
	client  *joined
	kubelet io.ReadWriteCloser
	// ways are those that are not over: to the kubelet, and to the client.
	ways atomic.Int32
	// apart has the kubelet's connection not end with the stream any more.
	apart func() bool
}

// join takes the connections over from the server and the transport, tells the client
// that the kubelet switched protocols, and has everything copied from then on. The error
// is never nil: it is errJoined then. With any other, nothing was taken over.
func join(answer *http.Response) error {
	s, _ := answer.Request.Context().Value(streamKey{}).(*stream)
	kubelet, ok := answer.Body.(io.ReadWriteCloser)
	if s == nil || !ok || !switches(answer) {
		return errSwitch
	}
	var header bytes.Buffer
	text := http.Response{StatusCode: answer.StatusCode, ProtoMajor: 1, ProtoMinor: 1, Header: answer.Header}
	if err := text.Write(&header); err != nil {
		return err
	}
	client, err := s.exchange.takeOver()
	if err != nil {
		return fmt.Errorf("taking the connection over: %w", err)
	}
	// The reverse proxy closes what is here.
	answer.Body = http.NoBody
	j := &junction{client: client, kubelet: kubelet}
	j.ways.Store(2)
	s.outlive()
	j.apart = context.AfterFunc(s.ctx, j.closeKubelet)
	go j.toKubelet()
	go j.toClient(header.Bytes())
	return errJoined
}

// switches is true if the kubelet switched to what was asked for.
func switches(answer *http.Response) bool {
	protocol, refused := upgradeOf(answer.Header)
	return refused == nil && protocol != "" && strings.EqualFold(protocol, answer.Request.Header.Get("Upgrade"))
}

// takeOver takes the client's connection from the server, whose goroutine it leaves.
func (x *exchange) takeOver() (*joined, error) {
	conn, rw, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err != nil {
		return nil, err
	}
	client := &joined{Conn: conn, exchange: x, wire: wireOf(conn), kubelets: x.stream.kubelets}
	if rw.Reader.Buffered() > 0 {
		client.early = rw.Reader
	}
	x.stream.hijacked(conn)
	x.line.Status = http.StatusSwitchingProtocols
	x.joined = true
	// The server's buffers hang on it. The stream ends by its connection from now on.
	x.ResponseWriter = nil
	return client, nil
}

func (j *junction) toKubelet() {
	err := j.client.send(j.kubelet)
	if err == nil {
		err = closeWrite(j.kubelet)
	}
	j.over(err)
}

func (j *junction) toClient(header []byte) {
	_, err := j.client.Write(header)
	if err == nil {
		err = j.client.receive(j.kubelet)
	}
	if err == nil {
		err = closeWrite(j.client.Conn)
	}
	j.over(err)
}

// over is called when one way is over. The other goes on if this one ended well. The
// last ends the exchange.
func (j *junction) over(err error) {
	left := j.ways.Add(-1)
	if err != nil || left == 0 {
		j.client.wire.end()
		_ = j.client.Close()
		j.closeKubelet()
	}
	if left == 0 {
		j.apart()
		j.client.exchange.finish()
	}
}

func (j *junction) closeKubelet() {
	j.client.kubelets.end()
	_ = j.kubelet.Close()
}

// closeWrite tells one side that nothing more comes, while it may still send.
func closeWrite(to any) error {
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("closing one half: %w", http.ErrNotSupported)
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

const (
	// idleBuffer is large enough for the echo of a shell.
	idleBuffer = 2 << 10
	// busyBuffer has the size of a full TLS record. TLS returns no more bytes at once.
	busyBuffer = 16 << 10
)

// errSwitch is the error for a 101 answer that the client did not request.
var errSwitch = errors.New("the kubelet switched to a protocol that the request did not ask for")

// checkSwitch accepts a 101 answer only on a stream, and only to the protocol that the
// request asked for. [net/http/httputil.ReverseProxy] then joins the two connections.
func checkSwitch(answer *http.Response, request *requestContext) error {
	protocol, refused := upgradeOf(answer.Header)
	if request == nil || request.stream == nil || refused != nil || protocol == "" ||
		!strings.EqualFold(protocol, answer.Request.Header.Get("Upgrade")) {
		return errSwitch
	}
	return nil
}

// Hijack gives the reverse proxy the client's connection after a 101 answer
// ([net/http.Hijacker]). The connection counts bytes, and ends with the stream.
func (rc *requestContext) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(rc.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	rc.event.Status, rc.hijacked = http.StatusSwitchingProtocols, true
	rc.stream.hijack(conn)
	client := &clientConn{Conn: conn, request: rc}
	if rw.Reader.Buffered() > 0 {
		client.early = rw.Reader
	}
	return client, rw, nil
}

// clientConn is the client's connection after an upgrade.
type clientConn struct {
	net.Conn
	request *requestContext
	// early contains the bytes that were sent with the request. ReverseProxy does not read them. It
	// is nil after they were read.
	early *bufio.Reader
}

// Read returns the early bytes first.
func (c *clientConn) Read(p []byte) (n int, err error) {
	if c.early == nil {
		n, err = c.Conn.Read(p)
	} else {
		n, err = c.early.Read(p[:min(len(p), c.early.Buffered())])
		if c.early.Buffered() == 0 {
			c.early = nil
		}
	}
	c.request.in.Add(int64(n))
	if n > 0 {
		c.request.stream.touch()
	}
	return n, err
}

// Write fails after the stream was ended. If a kubelet's connection is closed, it ends the
// command's input, and may still send the exit code. The client would take that code for the
// outcome of the command.
func (c *clientConn) Write(p []byte) (int, error) {
	if ctx := c.request.stream.ctx; ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	n, err := c.Conn.Write(p)
	c.request.out.Add(int64(n))
	c.request.stream.touch()
	return n, err
}

// CloseWrite ends the proxy's half of the connection. The client may still send.
func (c *clientConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("cannot close one half of the client's connection: %w", http.ErrNotSupported)
}

// WriteTo makes the reverse proxy's [io.Copy] to the kubelet use [copyStream].
func (c *clientConn) WriteTo(kubelet io.Writer) (int64, error) {
	return copyStream(kubelet, struct{ io.Reader }{c})
}

// ReadFrom makes the reverse proxy's [io.Copy] from the kubelet use [copyStream].
func (c *clientConn) ReadFrom(kubelet io.Reader) (int64, error) {
	return copyStream(struct{ io.Writer }{c}, kubelet)
}

var busyBuffers = sync.Pool{New: func() any { return new([busyBuffer]byte) }}

// copyStream is [io.Copy] with a small buffer while few bytes are sent. io.Copy uses 32 KiB for
// each direction. With it, an idle stream would use 119 KiB, more than the limit of 96 KiB
// (BenchmarkProxyIdleStreams).
func copyStream(to io.Writer, from io.Reader) (n int64, err error) {
	small := make([]byte, idleBuffer)
	for err == nil {
		var piece int
		piece, err = copyPiece(to, from, small)
		n += int64(piece)
		if err == nil && piece == len(small) {
			piece, err = copyBusy(to, from)
			n += int64(piece)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// copyBusy copies until a read returns few bytes.
func copyBusy(to io.Writer, from io.Reader) (n int, err error) {
	buffer, _ := busyBuffers.Get().(*[busyBuffer]byte)
	defer busyBuffers.Put(buffer)
	for piece := idleBuffer; err == nil && piece >= idleBuffer/2; n += piece {
		piece, err = copyPiece(to, from, buffer[:])
	}
	return n, err
}

// copyPiece reads once and writes the bytes. It returns io.EOF at the end.
func copyPiece(to io.Writer, from io.Reader, buffer []byte) (n int, err error) {
	n, err = from.Read(buffer)
	if n > 0 {
		if _, failed := to.Write(buffer[:n]); failed != nil {
			return n, failed
		}
	}
	return n, err
}

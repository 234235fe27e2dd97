// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
)

// joined is a client's connection after an upgrade.
type joined struct {
	net.Conn
	exchange *exchange
	// early is what came with the request; nil once it is read.
	early *bufio.Reader
	// wire and kubelets are below this connection and the kubelet's.
	wire, kubelets *wire
}

// Read reads what came early first.
func (j *joined) Read(p []byte) (int, error) {
	if j.early == nil {
		return j.Conn.Read(p)
	}
	n, err := j.early.Read(p[:min(len(p), j.early.Buffered())])
	if j.early.Buffered() == 0 {
		j.early = nil
	}
	return n, err
}

// send copies what the client sends.
func (j *joined) send(kubelet io.Writer) error {
	x := j.exchange
	return x.handler.buffers.relay(kubelet, j, seam{from: j.wire, to: j.kubelets}, func(n int) {
		x.in.Add(int64(n))
		x.stream.touch()
	})
}

// receive copies what the kubelet sends, until the stream is ended.
func (j *joined) receive(kubelet io.Reader) error {
	x := j.exchange
	return x.handler.buffers.relay(untilEnded{j.Conn, x.stream.ctx}, kubelet, seam{from: j.kubelets, to: j.wire},
		func(n int) {
			x.out.Add(int64(n))
			x.stream.touch()
		})
}

// untilEnded writes to the client what the kubelet sent before the stream was ended. A
// kubelet that is cut off ends the command's input and tells its exit code, which may
// come before its connection is closed: the client would take it for the outcome.
type untilEnded struct {
	client io.Writer
	ctx    context.Context
}

func (u untilEnded) Write(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.client.Write(p)
}

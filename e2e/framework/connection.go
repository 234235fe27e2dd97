// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxReply bounds the body of a [Reply].
const maxReply = 4 << 20

// Connection is an open connection to a [Port]. It is not safe for concurrent use.
type Connection struct {
	*tls.Conn
	Reader *bufio.Reader

	port   *Port
	who    Caller
	opened time.Time
}

// Reply returns a reply without a call. It describes only the connection.
func (c *Connection) Reply() Reply {
	return Reply{Caller: c.who, Port: c.port, Source: c.LocalAddr().String(), Opened: c.opened}
}

// Send sends one call and reads the whole answer. After an upgrade, the caller reads and writes the
// connection.
func (c *Connection) Send(call Call) (Reply, error) {
	if _, err := c.Write(call.Bytes(c.port.Address, c.who)); err != nil {
		// A server that rejects a call may not read all of it, but still answers.
		if reply, failed := c.Receive(call); failed == nil {
			return reply, nil
		}
		return Reply{}, fmt.Errorf("sending %s: %w", call, err)
	}
	return c.Receive(call)
}

// Receive reads the answer to a call that was sent.
func (c *Connection) Receive(call Call) (Reply, error) {
	reply := c.Reply()
	reply.Call = call
	for {
		answer, err := http.ReadResponse(c.Reader, &http.Request{Method: call.Method})
		if err != nil {
			return reply, fmt.Errorf("the answer to %s: %w", call, err)
		}
		reply.Code, reply.Header = answer.StatusCode, answer.Header
		if answer.StatusCode == http.StatusSwitchingProtocols {
			return reply, nil
		}
		body, err := io.ReadAll(io.LimitReader(answer.Body, maxReply))
		_ = answer.Body.Close()
		// An informational response: the final answer follows (RFC 9110 section 15.2).
		if reply.Code < http.StatusOK && err == nil {
			continue
		}
		reply.Body = string(body)
		// A server may send a rejection and close the connection before the body is complete.
		if err != nil && reply.Code < http.StatusBadRequest {
			return reply, fmt.Errorf("the answer to %s: %w", call, err)
		}
		return reply, nil
	}
}

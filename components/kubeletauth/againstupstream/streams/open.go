// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/standin"
)

var errNoStream = errors.New("no stream")

// stream is the client's end of one.
type stream struct {
	*tls.Conn
	// reader has what came with the answer's headers.
	reader *bufio.Reader
}

// open asks for a stream that does that, and waits for the kubelet's answer.
func open(ctx context.Context, side *sides.Side, does string) (*stream, error) {
	config, err := side.TLS(sides.Callers()[0])
	if err != nil {
		return nil, err
	}
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", side.Address)
	if err != nil {
		return nil, fmt.Errorf("asking for a stream: %w", err)
	}
	encrypted, _ := connection.(*tls.Conn) // what a [tls.Dialer] dials
	s := &stream{Conn: encrypted, reader: bufio.NewReaderSize(connection, 4<<10)}
	fmt.Fprintf(s, "POST %s?%s HTTP/1.1\r\nHost: node\r\nContent-Length: 0\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n", standin.Stream, does)
	if err := s.answered(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// answered waits for the kubelet's answer. What comes after it is the stream.
func (s *stream) answered() error {
	answer, err := http.ReadResponse(s.reader, nil)
	if err != nil {
		return fmt.Errorf("asking for a stream: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("%w: %s", errNoStream, answer.Status)
	}
	return nil
}

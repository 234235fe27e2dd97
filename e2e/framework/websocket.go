// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

const (
	// maxFrame bounds the size of one frame.
	maxFrame = 1 << 20
	// closing is the opcode of the close frame (RFC 6455 section 5.2).
	closing = 0x8
)

// Output reads the channels of a stream that was upgraded to *.channel.k8s.io, until its end.
// Channel 1 is standard output, 2 is standard error, and 3 is the final status
// (k8s.io/kubelet/pkg/cri/streaming/remotecommand).
func (c *Connection) Output() (map[byte]string, error) {
	channels := map[byte]*strings.Builder{}
	for {
		opcode, data, err := readFrame(c.Reader)
		if err != nil || opcode == closing {
			return texts(channels), err
		}
		if len(data) == 0 {
			continue
		}
		if channels[data[0]] == nil {
			channels[data[0]] = &strings.Builder{}
		}
		channels[data[0]].Write(data[1:])
	}
}

func texts(channels map[byte]*strings.Builder) map[byte]string {
	all := map[byte]string{}
	for channel, text := range channels {
		all[channel] = text.String()
	}
	return all
}

// readFrame reads a frame of a server. Servers do not mask frames.
func readFrame(from io.Reader) (opcode byte, data []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, fmt.Errorf("reading a frame: %w", err)
	}
	size := uint64(head[1] & 0x7f)
	if size > 125 {
		long := make([]byte, 8)
		if size == 126 {
			long = long[:2]
		}
		if _, err := io.ReadFull(from, long); err != nil {
			return 0, nil, fmt.Errorf("reading a frame: %w", err)
		}
		size = binary.BigEndian.Uint64(append(make([]byte, 8-len(long)), long...))
	}
	if size > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes", size)
	}
	data = make([]byte, size)
	if _, err := io.ReadFull(from, data); err != nil {
		return 0, nil, fmt.Errorf("reading a frame of %d bytes: %w", size, err)
	}
	return head[0] & 0xf, data, nil
}

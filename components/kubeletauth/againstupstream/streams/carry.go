// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/standin"
)

// pieceBytes is what a client copies at once.
const pieceBytes = 32 << 10

var errShort = errors.New("not all was carried")

// kind is a way in which much is carried. carry returns when all is there, and says how
// long it took from when the way was open.
type kind struct {
	name  string
	carry func(ctx context.Context, side *sides.Side, flow standin.Flow) (time.Duration, error)
}

var (
	fromKubelet = kind{"a stream from the kubelet", receive}
	toKubelet   = kind{"a stream to the kubelet", send}
	logs        = kind{"a log", read}
)

func receive(ctx context.Context, side *sides.Side, flow standin.Flow) (time.Duration, error) {
	s, err := open(ctx, side, "do="+standin.Send+"&"+flow.Query())
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	return all(s.reader, flow.Bytes)
}

func send(ctx context.Context, side *sides.Side, flow standin.Flow) (time.Duration, error) {
	s, err := open(ctx, side, "do="+standin.Receive)
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.Close() }()
	start := time.Now()
	piece := make([]byte, pieceBytes)
	for sent := int64(0); sent < flow.Bytes && err == nil; sent += pieceBytes {
		_, err = s.Write(piece[:min(pieceBytes, flow.Bytes-sent)])
	}
	var taken int64
	if err == nil {
		err = s.CloseWrite()
	}
	if err == nil {
		_, err = fmt.Fscan(s.reader, &taken)
	}
	if err == nil && taken != flow.Bytes {
		err = fmt.Errorf("%w: %d bytes of %d", errShort, taken, flow.Bytes)
	}
	return time.Since(start), err
}

func read(ctx context.Context, side *sides.Side, flow standin.Flow) (time.Duration, error) {
	client, err := side.Client(sides.Callers()[0])
	if err != nil {
		return 0, err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+side.Address+standin.Logs+"?"+flow.Query(), http.NoBody)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	return all(answer.Body, flow.Bytes)
}

// all reads to the end.
func all(from io.Reader, bytes int64) (time.Duration, error) {
	start := time.Now()
	// Without ReadFrom and WriteTo, which would choose the size of the pieces.
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{from}, make([]byte, pieceBytes))
	if err == nil && n != bytes {
		err = fmt.Errorf("%w: %d bytes of %d", errShort, n, bytes)
	}
	return time.Since(start), err
}

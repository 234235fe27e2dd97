// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

var errLong = errors.New("a line is too long")

// readLine returns the next line, which is the reader's until the next call, or errLong
// for one that it has passed over.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if len(line) > 0 && errors.Is(err, io.EOF) {
			err = nil
		}
		return line, err
	}
	whole := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = in.ReadSlice('\n')
		if len(whole) <= maxLine {
			whole = append(whole, line...)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(whole) > maxLine {
		return nil, errLong
	}
	return whole, nil
}

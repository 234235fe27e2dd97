// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package loglines reads the lines of a log that any client may have filled. It bounds the memory
// for one line.
package loglines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong is the error of [Reader.Next] for a line that is too long.
var ErrTooLong = errors.New("a line is too long")

// Reader reads one line after the other. It is not safe for concurrent use.
type Reader struct {
	in  *bufio.Reader
	max int
}

// New returns a Reader for lines of at most max bytes.
func New(in io.Reader, max int) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 1<<16), max: max}
}

// Next returns the next line, which is valid until the next call. It skips a line that is too long
// and returns ErrTooLong. At the end it returns io.EOF.
func (r *Reader) Next() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		if len(line) > 0 && errors.Is(err, io.EOF) {
			err = nil
		}
		return line, err
	}
	whole := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.in.ReadSlice('\n')
		if len(whole) <= r.max {
			whole = append(whole, line...)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(whole) > r.max {
		return nil, ErrTooLong
	}
	return whole, nil
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
)

// readInput returns the content of a file. "-" is the standard input. limit is a number of MiB.
func readInput(file string, stdin io.Reader, limit int) (data []byte, err error) {
	err = readSource(file, stdin, func(r io.Reader) error {
		data, err = io.ReadAll(io.LimitReader(r, int64(limit)<<20+1))
		if err == nil && len(data) > limit<<20 {
			err = fmt.Errorf("it is longer than %d MiB", limit)
		}
		return err
	})
	return data, err
}

// readSource calls read with a file. "-" is the standard input.
func readSource(file string, stdin io.Reader, read func(io.Reader) error) error {
	if file == "-" {
		return read(stdin)
	}
	opened, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("%w; give a file that exists, or - for standard input", err)
	}
	defer opened.Close() //nolint:errcheck // it was only read
	return read(opened)
}

// readLong is readSource for a file that may be long. It says how much it has read.
func readLong(file string, stdin io.Reader, says io.Writer, read func(io.Reader) error) error {
	return readSource(file, stdin, func(r io.Reader) error {
		progress := startProgress(says)
		defer progress.stop()
		return read(newCountedReader(file, r, progress))
	})
}

// countedReader says how much of a file was read.
type countedReader struct {
	io.Reader
	name     string
	read     int64
	progress *progress
}

func newCountedReader(file string, r io.Reader, p *progress) *countedReader {
	c := &countedReader{Reader: r, name: file, progress: p}
	if file == "-" {
		c.name = "standard input"
	}
	c.say()
	return c
}

func (c *countedReader) say() {
	c.progress.say(fmt.Sprintf("reading %s: %d MiB so far", c.name, c.read>>20))
}

func (c *countedReader) Read(to []byte) (int, error) {
	n, err := c.Reader.Read(to)
	c.read += int64(n)
	c.say()
	return n, err
}

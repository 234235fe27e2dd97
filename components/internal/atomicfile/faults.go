// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package atomicfile

import "os"

// write writes the bytes of a temporary file.
var write = (*os.File).Write

// OnWrite calls before for each file, before its bytes are written. If before returns an error, only
// the first half of the bytes is written, and the write fails with that error. This lasts until end is
// called. It is for tests of a full disk.
func OnWrite(before func() error) (end func()) {
	write = func(file *os.File, data []byte) (int, error) {
		if err := before(); err != nil {
			n, _ := file.Write(data[:len(data)/2])
			return n, err
		}
		return file.Write(data)
	}
	return func() { write = (*os.File).Write }
}

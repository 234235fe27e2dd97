// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command bundle appends a directory to a program, as a zip archive. The program runs as before, and
// finds the files in itself: a zip archive is read from its end.
package main

import (
	"archive/zip"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	output := flag.String("o", "", "File to write.")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: bundle -o OUTPUT PROGRAM DIRECTORY")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *output == "" || flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(*output, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintf(os.Stderr, "bundle: cannot write %s: %v\n", *output, err)
		os.Exit(1)
	}
}

// write replaces the output only after the new file is whole.
func write(output, program, dir string) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(output), filepath.Base(output)+".*")
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, temporary.Close())
		if err == nil {
			err = os.Rename(temporary.Name(), output)
		} else {
			_ = os.Remove(temporary.Name())
		}
	}()
	if err := temporary.Chmod(0o755); err != nil {
		return err
	}
	from, err := os.Open(program)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	size, err := io.Copy(temporary, from)
	if err != nil {
		return err
	}
	archive := zip.NewWriter(temporary)
	archive.SetOffset(size)
	if err := add(archive, os.DirFS(dir)); err != nil {
		return err
	}
	return archive.Close()
}

// add adds all files, without their times: the same files always make the same bytes.
func add(archive *zip.Writer, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(info.Mode())
		to, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		from, err := files.Open(name)
		if err != nil {
			return err
		}
		defer from.Close() //nolint:errcheck // it was only read
		_, err = io.Copy(to, from)
		return err
	})
}

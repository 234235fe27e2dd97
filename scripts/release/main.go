// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command release builds a release of Bulkhead, checks that it is reproducible, and verifies one. It
// uses no container engine, no registry, and no service. docs/releases.md describes the files.
//
//	release build  -version=v0.2.0 -output=DIR [-key=release.pem]
//	release check  -version=v0.2.0
//	release verify -output=DIR -public-key=release.pub
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 0 {
		return errors.New("cannot start: no command; use build, check or verify")
	}
	r := release{log: out}
	var publicKey string
	flags := flag.NewFlagSet("release "+args[0], flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "the version, such as v0.2.0")
	flags.StringVar(&r.root, "root", ".", "the checkout")
	flags.StringVar(&r.folder, "output", "", "the folder of the release")
	flags.StringVar(&r.key, "key", "", "the private key that signs the release: ECDSA, PEM")
	flags.StringVar(&r.section, "changelog-section", "", "the heading in docs/CHANGELOG.md (default the version)")
	flags.BoolVar(&r.allowDirty, "allow-dirty", false, "for tests: also if the checkout has changes")
	flags.StringVar(&publicKey, "public-key", "", "the public key that verifies the release: ECDSA, PEM")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("cannot use the argument %q: release has only flags", flags.Arg(0))
	}
	root, err := filepath.Abs(r.root)
	if err != nil {
		return err
	}
	r.root = root
	switch args[0] {
	case "build":
		if r.folder == "" {
			return errors.New("cannot build a release: -output is empty")
		}
		return r.build(ctx)
	case "check":
		return checkReproducible(ctx, r)
	case "verify":
		return verify(out, r.folder, publicKey)
	}
	return fmt.Errorf("cannot run %q: use build, check or verify", args[0])
}

// verify checks the signature of a release and then every file.
func verify(out io.Writer, folder, publicKey string) error {
	if publicKey == "" {
		return errors.New("cannot verify a release without its public key: set RELEASE_PUBLIC_KEY to the path of the key")
	}
	list := filepath.Join(folder, sumsFile)
	if err := verifyFile(publicKey, list, filepath.Join(folder, signatureFile)); err != nil {
		return err
	}
	if err := checkSums(folder); err != nil {
		return err
	}
	fmt.Fprintf(out, "verified: the signature of %s, and every file in %s\n", sumsFile, folder)
	return nil
}

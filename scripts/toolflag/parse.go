// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package toolflag parses the command lines of tools that have only flags, and checks their --help.
package toolflag

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Parse parses args with flags, which must be of [flag.ContinueOnError]. For -h and --help, it
// prints help and the flags to out, and returns [flag.ErrHelp].
func Parse(out io.Writer, help string, flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = fmt.Fprint(out, help)
		flags.SetOutput(out)
		flags.PrintDefaults()
		return err
	case err != nil:
		return fmt.Errorf("%w; for the flags, run it with --help", err)
	case flags.NArg() > 0:
		return fmt.Errorf("cannot use the argument %q: %s has only flags", flags.Arg(0), flags.Name())
	}
	return nil
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"time"
)

const (
	// fuzzTries is how many inputs each fuzz target gets, its seeds among them.
	fuzzTries = 1000
	// fuzzPatience is far above what they take; it is for a target that hangs.
	fuzzPatience = 5 * time.Minute
)

var fuzzed = fmt.Sprintf("fuzz targets, %d inputs each", fuzzTries)

// fuzzAll runs every fuzz target of every module for a while, on so many processors.
func fuzzAll(ctx context.Context, root string, modules []string, out io.Writer, processors int) (count, error) {
	var (
		all  count
		errs error
	)
	for _, module := range modules {
		packages, err := fuzzPackages(filepath.Join(root, module))
		errs = errors.Join(errs, err)
		for _, p := range packages {
			if ctx.Err() != nil {
				return all, errors.Join(errs, ctx.Err())
			}
			counted, err := fuzzer{p, out, processors}.run(ctx)
			all.add(counted)
			errs = errors.Join(errs, err)
		}
	}
	return all, errs
}

// allProcessors is how many fuzzing takes that has the machine for itself.
func allProcessors() int { return runtime.GOMAXPROCS(0) }

// fuzzer is what the targets of a package are tried with.
type fuzzer struct {
	fuzzPackage
	out        io.Writer
	processors int
}

// run links the package once for all of its targets, which takes longer than to try them.
func (f fuzzer) run(ctx context.Context) (count, error) {
	work, err := os.MkdirTemp("", "bulkhead-fuzz-")
	if err != nil {
		return count{}, fmt.Errorf("fuzzing %s: %w", f.folder, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	program := filepath.Join(work, "fuzz.test")
	if said, err := f.politely(ctx, "go", "test", "-c", "-fuzz=.", fmt.Sprintf("-p=%d", f.processors), "-o="+program, "."); err != nil {
		fmt.Fprintf(f.out, "    compiling %s: %v\n%s", f.folder, err, said)
		return count{failed: len(f.targets)}, nil
	}
	var counted count
	for _, target := range f.targets {
		counted.add(f.try(ctx, program, target))
	}
	return counted, nil
}

// try gives a target its inputs. No time goes into making smaller ones of what was found to
// be of interest, for which Go would take a minute each; and what another run has found is
// forgotten, or nothing else would be tried at last.
func (f fuzzer) try(ctx context.Context, program, target string) count {
	begun := time.Now()
	said, err := f.politely(ctx, program, "-test.run=^$", "-test.fuzz=^"+target+"$",
		fmt.Sprintf("-test.fuzztime=%dx", fuzzTries), "-test.fuzzminimizetime=1x", fmt.Sprintf("-test.timeout=%s", fuzzPatience),
		fmt.Sprintf("-test.parallel=%d", f.processors), "-test.fuzzcachedir="+filepath.Join(filepath.Dir(program), "found"))
	if tried := inputs(said); err == nil && tried < fuzzTries {
		err = fmt.Errorf("%d inputs were tried, and %d wanted", tried, fuzzTries)
	}
	fmt.Fprintf(f.out, "    %s: %v\n", target, time.Since(begun).Round(time.Second))
	if err != nil {
		fmt.Fprintf(f.out, "%s%v\n", said, err)
		return count{failed: 1}
	}
	return count{passed: 1}
}

var execs = regexp.MustCompile(`fuzz: elapsed: [^,]+, execs: (\d+) `)

// inputs is how many a fuzzer says that it has tried, at last.
func inputs(said []byte) int {
	all := execs.FindAllSubmatch(said, -1)
	if len(all) == 0 {
		return 0
	}
	tried, _ := strconv.Atoi(string(all[len(all)-1][1])) // digits, and too many are many
	return tried
}

// politely runs a program in the package's folder.
func (f fuzzer) politely(ctx context.Context, args ...string) ([]byte, error) {
	var said bytes.Buffer
	cmd := polite(ctx, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.folder, &said, &said
	if err := startPolitely(cmd); err != nil {
		return nil, err
	}
	err := cmd.Wait()
	return said.Bytes(), err
}

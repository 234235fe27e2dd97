// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command mutate inverts the conditions of policy packages, one after the other, and runs the unit
// tests of the package for each. It lists the conditions whose inversion no test notices.
//
//	mutate [--list] PACKAGE…
//
// It compiles the tests of a package once, with an overlay in which an environment variable selects
// the condition. So the production code needs no hook, and one mutant takes as long as the tests.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	list := flag.Bool("list", false, "print the conditions, and run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok := checkAll(ctx, flag.Args(), *list)
	stop()
	if !ok {
		os.Exit(1)
	}
}

// checkAll checks packages, and reports whether no mutant of any of them survived.
func checkAll(ctx context.Context, folders []string, list bool) bool {
	ok := true
	for _, folder := range folders {
		survivors, err := check(ctx, folder, list)
		if err != nil {
			fmt.Fprintf(os.Stderr, "cannot check %s: %v\n", folder, err)
		}
		ok = ok && err == nil && survivors == 0
	}
	return ok
}

// check runs all mutants of a package, prints a row of a table, and then the survivors.
func check(ctx context.Context, folder string, list bool) (survivors int, err error) {
	s, err := parse(folder)
	if err != nil {
		return 0, err
	}
	mutants, err := s.mutants(os.ReadFile)
	if err != nil {
		return 0, err
	}
	if list {
		for _, m := range mutants {
			fmt.Println(m)
		}
		return 0, nil
	}
	start := time.Now()
	survived, err := run(ctx, folder, s, mutants)
	if err != nil {
		return 0, err
	}
	for i, m := range mutants {
		if survived[i] {
			survivors++
			fmt.Println("survived:", m)
		}
	}
	fmt.Printf("| `%s` | %d | %d | %v |\n", folder, len(mutants), survivors, time.Since(start).Round(time.Second))
	return survivors, nil
}

// run returns which mutants survived.
func run(ctx context.Context, folder string, s *source, mutants []mutant) ([]bool, error) {
	temporary, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	overlay, err := writeOverlay(temporary, s, mutants)
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(temporary, "tests")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "-overlay", overlay, "./"+folder)
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, output)
	}
	if output, passed := test(ctx, binary, folder, 0); !passed {
		return nil, fmt.Errorf("the tests fail without a mutant:\n%s", output)
	}
	survived := make([]bool, len(mutants))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	var done atomic.Int64
	for i, m := range mutants {
		all.Go(func() error {
			_, survived[i] = test(ctx, binary, folder, m.number)
			if n := done.Add(1); n%100 == 0 {
				fmt.Fprintf(os.Stderr, "%s: %d of %d\n", folder, n, len(mutants))
			}
			return ctx.Err()
		})
	}
	return survived, all.Wait()
}

// testTimeout ends a mutant that loops. It is many times what the tests of a package take.
const testTimeout = 2 * time.Minute

// limited runs a command with at most 4 GiB of address space, where the system can limit it: a mutant
// may allocate memory in an endless loop.
const limited = `ulimit -v 4194304 2>/dev/null; exec "$@"`

// test runs the tests with a mutant. Without one, number is 0, and it returns the output. The output of a
// mutant may be endless.
func test(ctx context.Context, binary, folder string, number int) (output []byte, passed bool) {
	cmd := exec.CommandContext(ctx, "sh", "-c", limited, "sh", binary, "-test.failfast",
		"-test.timeout="+testTimeout.String())
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), variable+"="+strconv.Itoa(number))
	var text bytes.Buffer
	if number == 0 {
		cmd.Stdout, cmd.Stderr = &text, &text
	}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
	}
	return text.Bytes(), err == nil
}

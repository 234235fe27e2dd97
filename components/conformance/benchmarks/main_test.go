// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
)

const root = "../../.."

// subjectVariable makes this program run as a benchmark subject, in a separate process.
const subjectVariable = "BULKHEAD_BENCHMARK_SUBJECT"

var (
	turns = flag.Int("turns", 1, "how often every benchmark runs; subjects alternate")
	pods  = flag.Int("pods", 2000, "pods of the cluster that the webhooks follow")
)

// shared are the programs that benchmarks start once and use in every run.
var shared = struct {
	dir   string
	stops []func()
}{}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	if subject := os.Getenv(subjectVariable); subject != "" {
		if err := serveSubject(context.Background(), subject, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "bulkhead-benchmarks-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	shared.dir = dir
	defer func() {
		for i := len(shared.stops) - 1; i >= 0; i-- {
			shared.stops[i]()
		}
	}()
	for range *turns {
		code = max(code, m.Run())
	}
	return code
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command report reads results in the format of Go benchmarks, checks the bars, and prints a table.
// With -write it puts the table in docs/performance.md. It exits with 1 if a bar is missed.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/refcluster"
)

const begin, end = "<!-- measured: written by `make bench` -->\n", "<!-- end of measured -->\n"

func main() {
	input := flag.String("input", "", "file with the results")
	page := flag.String("write", "", "page to write the table into, between its two markers")
	flag.Parse()
	missed, err := report(*input, *page)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "report: %d bars are missed\n", missed)
		os.Exit(1)
	}
}

func report(input, page string) (missed int, err error) {
	data, err := os.ReadFile(input)
	if err != nil {
		return 0, err
	}
	found := parse(string(data))
	var out strings.Builder
	missed = writeTables(&out, found)
	fmt.Print(out.String())
	if page == "" {
		return missed, nil
	}
	measured := fmt.Sprintf(
		"Measured on %s: %s.\n\n%s",
		time.Now().UTC().Format("2006-01-02"),
		machine(string(data)),
		out.String(),
	)
	return missed, refcluster.ReplacePart(page, begin, end, measured)
}

// machine returns the go command's description of the machine.
func machine(results string) string {
	var words []string
	for _, key := range []string{"cpu: ", "goos: ", "goarch: "} {
		if _, rest, ok := strings.Cut(results, key); ok {
			value, _, _ := strings.Cut(rest, "\n")
			words = append(words, strings.TrimSpace(value))
		}
	}
	return strings.Join(words, ", ")
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFailureText is enough for what was expected and what came instead.
const maxFailureText = 3000

// junit is what is read of a report of Ginkgo.
type junit struct {
	Cases []junitCase `xml:"testsuite>testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure"`
	Error   *junitFailure `xml:"error"`
	Skipped *struct {
		Message string `xml:"message,attr"`
	} `xml:"skipped"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func readJUnit(file string) (junit, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return junit{}, fmt.Errorf("reading the suite's report: %w", err)
	}
	var report junit
	if err := xml.Unmarshal(raw, &report); err != nil {
		return junit{}, fmt.Errorf("reading the suite's report: %w", err)
	}
	return report, nil
}

// printFailures tells once more, where a reader looks first, what went wrong in
// the specs of the reports: each was told when it happened, far above.
func printFailures(out io.Writer, reports []string) {
	for _, file := range reports {
		report, err := readJUnit(file)
		if err != nil {
			continue // it failed its part of the run already
		}
		for _, c := range report.Cases {
			failure := c.Failure
			if failure == nil {
				failure = c.Error
			}
			if failure == nil {
				continue
			}
			text := strings.TrimSpace(failure.Message + "\n" + failure.Text)
			fmt.Fprintf(out, "\nFAILED %s\n%s\n", c.Name, text[:min(len(text), maxFailureText)])
		}
	}
}

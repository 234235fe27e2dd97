// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/onsi/ginkgo/v2/reporters"
)

// readJUnit counts the tests in a report of Ginkgo or gotestsum. A Ginkgo suite that is missing
// from the report counts as a failure, because it ended without a report.
func (r *result) readJUnit(file string, suites ...string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the test report: %w", err)
	}
	var report reporters.JUnitTestSuites
	if err := xml.Unmarshal(raw, &report); err != nil {
		return fmt.Errorf("cannot read the test report %s: %w", file, err)
	}
	reported := map[string]bool{}
	for _, suite := range report.TestSuites {
		reported[path.Base(suite.Package)] = true
		r.addSuite(suite)
	}
	for _, name := range suites {
		if !reported[name] {
			r.fail("suite "+name, "the suite ended without a report")
		}
	}
	return nil
}

// judge returns why the tests of a program did not complete. ran is the error of the program, and
// read the error of reading its report. Failed tests are no error here, because they are in the
// report.
func (r *result) judge(ran, read error) error {
	switch {
	case read != nil:
		return errors.Join(read, ran)
	case r.failed > 0:
		return nil
	case ran != nil:
		return fmt.Errorf("no test failed, but the program did: %w", ran)
	case r.count == count{}:
		return errors.New("no test ran")
	}
	return nil
}

// addSuite counts the specs of a suite or the tests of a Go package.
//
// A spec that the label filter excludes has only the message "skipped". It does not count, because
// another call of Ginkgo runs it. A Go test with subtests counts only if it fails and none of its
// subtests does.
func (r *result) addSuite(suite reporters.JUnitTestSuite) {
	parents, failedParents := map[string]bool{}, map[string]bool{}
	for _, c := range suite.TestCases {
		for i := range c.Name {
			if c.Name[i] == '/' && c.Name[0] != '[' {
				parents[c.Name[:i]] = true
				failedParents[c.Name[:i]] = failedParents[c.Name[:i]] || c.Failure != nil
			}
		}
	}
	for _, c := range suite.TestCases {
		isTest := !strings.HasPrefix(c.Name, "[") || strings.HasPrefix(c.Name, "[It]")
		switch {
		case c.Failure != nil && failedParents[c.Name]:
		case c.Failure != nil:
			r.fail(suite.Name+" "+c.Name, cmp.Or(c.Failure.Description, c.Failure.Message))
		case c.Error != nil:
			r.fail(suite.Name+" "+c.Name, cmp.Or(c.Error.Description, c.Error.Message))
		case parents[c.Name]:
		case c.Skipped != nil && c.Skipped.Message != "skipped":
			r.skipped++
		case c.Skipped == nil && isTest:
			r.passed++
		}
	}
}

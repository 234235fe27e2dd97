// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
	Output  string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes a test case for each rule. A rule that does not hold is a failure, one that is not
// proved an error, and one that is not applicable is skipped.
func JUnit(w io.Writer, r *api.NodeIsolationReport) error {
	all := junitSuites{Name: "NodeIsolationReport " + r.Metadata.Profile}
	for _, profile := range r.Profiles {
		suite := junitSuite{
			Name: profile.Name, Tests: profile.Rules.Total(), Failures: profile.Rules.NotHeld, Errors: profile.Rules.NotProved,
			Skipped: profile.Rules.NotApplicable, Timestamp: r.Metadata.Started.UTC().Format(time.RFC3339),
		}
		var total time.Duration
		for _, rule := range r.Rules {
			if rule.Profile == profile.Name {
				suite.Cases = append(suite.Cases, junitCaseOf(rule))
				total += durationOf(rule)
			}
		}
		suite.Time = fmt.Sprintf("%.3f", total.Seconds())
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return fmt.Errorf("cannot write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitCaseOf(rule api.Rule) junitCase {
	c := junitCase{Name: rule.ID + ": " + rule.Description, Class: rule.Profile,
		Time: fmt.Sprintf("%.3f", durationOf(rule).Seconds()), Output: summary(rule)}
	text := &junitText{Message: rule.Reason}
	for _, e := range rule.Evidence {
		if e.Outcome == api.Failed || e.Outcome == api.TimedOut {
			text.Text += e.Suite + ": " + e.Spec + "\n" + e.Message + "\n\n"
		}
	}
	switch rule.Result {
	case api.NotHeld:
		c.Failure = text
	case api.NotProved:
		c.Error = text
	case api.NotApplicable:
		c.Skipped = text
	case api.Held:
	}
	return c
}

func durationOf(rule api.Rule) (sum time.Duration) {
	for _, e := range rule.Evidence {
		sum += e.Duration.Duration
	}
	return sum
}

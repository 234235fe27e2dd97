// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// status is what kube-bench says about a check.
type status string

const (
	pass status = "PASS"
	fail status = "FAIL"
	warn status = "WARN"
)

// check is the result of one check on one node.
type check struct {
	ID     string `json:"test_number"`
	Text   string `json:"test_desc"`
	Status status `json:"status"`
	Actual string `json:"actual_value"`
}

// found is what the check has found on the node, shortened: it can be a whole command line.
func (c check) found() string {
	const limit = 120
	text := []rune(strings.TrimSpace(c.Actual))
	return string(text[:min(len(text), limit)])
}

// parseChecks reads kube-bench's JSON. No check at all is an error.
func parseChecks(raw []byte) ([]check, error) {
	var output struct {
		Controls []struct {
			Groups []struct {
				Checks []check `json:"results"`
			} `json:"tests"`
		}
	}
	if err := json.Unmarshal(raw, &output); err != nil {
		return nil, fmt.Errorf("cannot read the output of kube-bench: %w", err)
	}
	var checks []check
	for _, control := range output.Controls {
		for _, group := range control.Groups {
			checks = append(checks, group.Checks...)
		}
	}
	if len(checks) == 0 {
		return nil, errors.New("cannot read the output of kube-bench: it has no check")
	}
	slices.SortStableFunc(checks, func(a, b check) int { return compareIDs(a.ID, b.ID) })
	return checks, nil
}

// compareIDs orders 1.2.9 before 1.2.10.
func compareIDs(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

func numbers(id string) []int {
	var all []int
	for part := range strings.SplitSeq(id, ".") {
		number, _ := strconv.Atoi(part)
		all = append(all, number)
	}
	return all
}

func count(checks []check, s status) int { return len(with(checks, s)) }

func with(checks []check, s status) []check {
	return slices.DeleteFunc(slices.Clone(checks), func(c check) bool { return c.Status != s })
}

func find(checks []check, id string) (check, bool) {
	i := slices.IndexFunc(checks, func(c check) bool { return c.ID == id })
	if i < 0 {
		return check{}, false
	}
	return checks[i], true
}

// result are the checks on both nodes. override are those of the control plane if three checks read
// the authorization file in force. overridden says which of both counts.
type result struct {
	version, kubernetes            string
	controlPlane, override, worker []check
	overridden                     bool
}

// counted are the results of all nodes that count.
func (r result) counted() []check {
	if r.overridden {
		return slices.Concat(r.override, r.worker)
	}
	return slices.Concat(r.controlPlane, r.worker)
}

// accepted reports whether a failed check passes with the override.
func (r result) accepted(c check, texts reasons) bool {
	if _, ok := texts.Override[c.ID]; !ok {
		return false
	}
	other, found := find(r.override, c.ID)
	return found && other.Status == pass
}

// problems returns an error for what needs work: a failed check, or a reason that is missing or has
// no check.
func (r result) problems(texts reasons) error {
	var errs []error
	met := map[string]bool{}
	for _, c := range r.counted() {
		switch {
		case c.Status == warn && met[c.ID]: // the other node has the same warning
		case c.Status == fail && !r.accepted(c, texts):
			errs = append(errs, fmt.Errorf("%s fails: %s (found %q)", c.ID, c.Text, c.found()))
		case c.Status == warn && texts.Warnings[c.ID] == "":
			errs = append(errs, fmt.Errorf("%s warns, and scripts/benchcis/reasons.yaml has no reason: %s", c.ID, c.Text))
		}
		met[c.ID] = met[c.ID] || c.Status == warn
	}
	for _, id := range texts.ids() {
		if !met[id] {
			errs = append(errs, fmt.Errorf("scripts/benchcis/reasons.yaml has a reason for %s, which does not warn", id))
		}
	}
	return errors.Join(errs...)
}

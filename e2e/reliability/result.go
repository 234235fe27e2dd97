// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Directory is the directory for results, in the directory of the suite's other reports.
const Directory = "reliability"

// Result is what happened in one disruption.
type Result struct {
	// Place is the number of the disruption in the table.
	Place int
	// Name is the disruption, Broken explains what is broken.
	Name, Broken string
	// NotRun is why the disruption was not run. The fields below are then empty.
	NotRun string `json:",omitempty"`
	Began  time.Time
	// Lasted is the time until the repair. Recovery is the time from the repair until every call was
	// answered as before the disruption.
	Lasted, Recovery time.Duration
	// NotReady are the nodes that were not Ready for some time. Expected is true if the disruption
	// must have this effect.
	NotReady []string `json:",omitempty"`
	Expected bool     `json:",omitempty"`
	Calls    []Calls
	// Problems are the expectations that were not met.
	Problems []string `json:",omitempty"`
	// Machine and Kubernetes are where it ran.
	Machine, Kubernetes string
}

// Calls counts the answers to one kind of call.
type Calls struct {
	Name string
	// Attack is true for a call that must never be allowed.
	Attack bool
	// Denied are answers 401 and 403. Failed are calls without an answer, and other errors.
	Allowed, Denied, Failed int
	// Longest is the longest time that a call took.
	Longest time.Duration
}

// All returns the number of calls.
func (c Calls) All() int { return c.Allowed + c.Denied + c.Failed }

var notInLabel = regexp.MustCompile(`[^a-z0-9]+`)

// Label returns the name of a disruption as a label, and as the name of a file.
func Label(name string) string {
	return strings.Trim(notInLabel.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// Write writes the result to a file of its own in the directory.
func (r *Result) Write(directory string) error { return writeJSON(r.file(directory), r) }

func (r *Result) file(directory string) string {
	return filepath.Join(directory, Label(r.Name)+".json")
}

// Keep writes the results of a run to the directory with the results of all runs. A disruption that
// was not run does not replace an earlier result.
func Keep(run []Result, directory string) error {
	for _, r := range run {
		if _, err := os.Stat(r.file(directory)); err == nil && r.NotRun != "" {
			continue
		}
		if err := r.Write(directory); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(file string, value any) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode %s: %w", file, err)
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// ReadResults returns all results in a directory, in the order of the table.
func ReadResults(directory string) ([]Result, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r Result
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", file, err)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Result) int { return cmp.Compare(a.Place, b.Place) })
	return all, nil
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/version"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// ResultsSuffix is the end of the name of a file with [Results].
const ResultsSuffix = ".results.json"

// maxResults is the size of the largest file with results.
const maxResults = 32 << 20

// Effect is what a rule or a cluster does with a request.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// State is the result of a spec.
type State string

// The states of a spec.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped"
	// TimedOut is the state of a spec that met a time limit, for example on a slow cluster.
	TimedOut State = "timedOut"
)

var states = []State{Passed, Failed, Skipped, TimedOut}

// Results are the results of one run of one suite on one cluster.
type Results struct {
	Suite string `json:"suite"`
	// Profile is what is installed on the cluster: hardened, parity or in-tree.
	Profile           string        `json:"profile"`
	BulkheadVersion   string        `json:"bulkheadVersion"`
	KubernetesVersion string        `json:"kubernetesVersion"`
	Nodes             int           `json:"nodes"`
	Platform          string        `json:"platform"`
	Started           time.Time     `json:"started"`
	Duration          time.Duration `json:"duration"`
	Specs             []Spec        `json:"specs"`
}

// Spec is one spec that ran or that skipped itself.
type Spec struct {
	// Container has the texts of the containers, the outermost first.
	Container []string `json:"container,omitempty"`
	Text      string   `json:"text"`
	// Line is the spec's line in its file. The steps of an attack have this order.
	Line int `json:"line,omitempty"`
	// Rules are the rules of the spec, and Want is what they do.
	Rules []rules.ID `json:"rules,omitempty"`
	Want  Effect     `json:"want,omitempty"`
	// By is the rule whose name an answer has. It can also be [Behind]. Off is the rule that allows the
	// request where By is not in force.
	By  rules.ID `json:"by,omitempty"`
	Off rules.ID `json:"off,omitempty"`
	// Expected is what the spec expects on this cluster. It differs from Want where the rule is not in
	// force.
	Expected Effect `json:"expected,omitempty"`
	// Attack is the number of the attack, such as T20.
	Attack   string        `json:"attack,omitempty"`
	State    State         `json:"state"`
	Message  string        `json:"message,omitempty"`
	Duration time.Duration `json:"duration"`
	// Answers are the answers that the spec compared with its claim.
	Answers []Answer `json:"answers,omitempty"`
}

// Behind is the authorizers after Bulkhead in [Spec.By].
const Behind rules.ID = "behind"

// Answer is what the cluster did with one request.
type Answer struct {
	User    string `json:"user"`
	Request string `json:"request"`
	// Code is the HTTP status. It is 0 for a review without a request.
	Code    int    `json:"code,omitempty"`
	Allowed bool   `json:"allowed"`
	Message string `json:"message,omitempty"`
}

// NewResults returns results of a suite that belongs to this program's version of Bulkhead.
func NewResults(suite, profile string, started time.Time, duration time.Duration) *Results {
	return &Results{
		Suite: suite, Profile: profile, BulkheadVersion: ProgramVersion(), Started: started.UTC(), Duration: duration,
	}
}

// Write writes the results to a file.
func (r *Results) Write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o750)
	}
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot write the results of suite %s: %w", r.Suite, err)
	}
	return nil
}

// ErrNoResults is the error of [Read] for a folder without results.
var ErrNoResults = errors.New("there are no results")

// Read reads all results in a folder and in its folders, in the order of their names.
func Read(folder string) ([]Results, error) {
	var files []string
	for _, pattern := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern+ResultsSuffix))
		if err != nil {
			return nil, fmt.Errorf("cannot look for results in %s: %w", folder, err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("cannot read %s: %w", folder, ErrNoResults)
	}
	slices.Sort(files)
	var all []Results
	for _, file := range files {
		results, err := readFile(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read results from %s: %w; remove the file and run the suite again", file, err)
		}
		all = append(all, *results)
	}
	return all, nil
}

func readFile(path string) (*Results, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxResults+1))
	if err != nil {
		return nil, err
	}
	return parse(data)
}

func parse(data []byte) (*Results, error) {
	if len(data) > maxResults {
		return nil, fmt.Errorf("the file has more than %d bytes", maxResults)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var r Results
	if err := decoder.Decode(&r); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the results")
	}
	for _, spec := range r.Specs {
		if !slices.Contains(states, spec.State) {
			return nil, fmt.Errorf("spec %q has the invalid state %q", clean(spec.Text, 80), clean(string(spec.State), 80))
		}
	}
	return &r, nil
}

// ProgramVersion returns the version of Bulkhead that the running program was built from.
func ProgramVersion() string { return version.Get().Version }

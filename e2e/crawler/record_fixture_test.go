// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// recorded is one line of crawl.json. It does not contain request bodies, or the content of
// successful answers.
type recorded struct {
	Credential string   `json:"credential"`
	Route      route    `json:"road"`
	Verb       string   `json:"verb"`
	Resource   string   `json:"resource"`
	Relation   relation `json:"relation"`
	Object     string   `json:"object"`
	Request    string   `json:"request"`
	Node       string   `json:"node,omitempty"`
	Verdict    verdict  `json:"verdict"`
	Code       int      `json:"code"`
	Message    string   `json:"message,omitempty"`
}

// write writes crawl.txt and crawl.json to the directory.
func (r *report) write(directory string, took time.Duration) error {
	summary := map[string]any{
		"profile": r.Setting.profile, "nodeScope": r.Setting.scoped, "seconds": took.Seconds(), "credentials": r.found(),
		"all":              r.All,
		"beyondTheOwnNode": map[string]int{"successes": r.All.Outside, "rights": r.rights()}, "skipped": r.Skipped,
	}
	by := map[string]*tally{}
	for _, name := range r.names() {
		by[name] = r.of(name)
	}
	summary["byCredential"] = by
	var lines []recorded
	for _, a := range r.Answers {
		lines = append(lines, recorded{
			a.Credential.Name, a.Route, a.Verb, a.Resource, a.Relation, a.Object, a.Method + " " + a.url(), a.Node, a.Verdict,
			a.Code, a.Message,
		})
	}
	summary["attempts"] = lines
	encoded, err := json.Marshal(summary)
	if err != nil {
		return fmt.Errorf("encoding the crawl: %w", err)
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("making a directory for the crawl: %w", err)
	}
	if err := os.WriteFile(filepath.Join(directory, "crawl.json"), encoded, 0o644); err != nil {
		return fmt.Errorf("writing the crawl: %w", err)
	}
	return os.WriteFile(filepath.Join(directory, "crawl.txt"), []byte(r.String()), 0o644)
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Folders of checks, in the staging folder.
const (
	unmodified = "cfg"
	overridden = "cfg-override"
)

// copyChecks copies the benchmark's checks to a folder. override replaces the audit command of
// checks. Each of these checks must exist.
func copyChecks(cfg, to string, override map[string]string) error {
	if err := os.MkdirAll(filepath.Join(to, benchmark), 0o755); err != nil {
		return err
	}
	config, err := os.ReadFile(filepath.Join(cfg, "config.yaml"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "config.yaml"), config, 0o600); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(cfg, benchmark, "*.yaml"))
	if err != nil {
		return err
	}
	replaced := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if len(override) > 0 {
			raw, err = replaceAudits(raw, override, &replaced)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		if err := os.WriteFile(filepath.Join(to, benchmark, filepath.Base(file)), raw, 0o600); err != nil {
			return err
		}
	}
	if replaced != len(override) {
		return fmt.Errorf("the override has %d checks, and %s has %d of them", len(override), benchmark, replaced)
	}
	return nil
}

// replaceAudits replaces the audit commands of checks in a file. The tests of the checks stay. A file
// without such a check stays byte for byte: written again, the value no of a test would be false.
func replaceAudits(file []byte, override map[string]string, replaced *int) ([]byte, error) {
	var content map[string]any
	if err := yaml.Unmarshal(file, &content); err != nil {
		return nil, err
	}
	before := *replaced
	groups, _ := content["groups"].([]any)
	for _, group := range groups {
		fields, _ := group.(map[string]any)
		checks, _ := fields["checks"].([]any)
		for _, item := range checks {
			fields, _ := item.(map[string]any)
			id, _ := fields["id"].(string)
			if audit, ok := override[id]; ok {
				fields["audit"] = audit
				*replaced++
			}
		}
	}
	if *replaced == before {
		return file, nil
	}
	return yaml.Marshal(content)
}

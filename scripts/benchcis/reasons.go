// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// reasons are this project's texts about checks, by their IDs.
type reasons struct {
	// Warnings says for each warning why the cluster is as it is.
	Warnings map[string]string `json:"warnings"`
	// Override has another audit command for a check. It is not used unless the user asks for it.
	Override map[string]string `json:"-"`
	// Failures says why a check with an override fails without it.
	Failures map[string]string `json:"failures"`
}

// ids returns the IDs of the warnings, in the benchmark's order.
func (r reasons) ids() []string { return slices.SortedFunc(maps.Keys(r.Warnings), compareIDs) }

// readReasons reads both files of a folder.
func readReasons(dir string) (reasons, error) {
	var r reasons
	for file, into := range map[string]any{"reasons.yaml": &r, "override.yaml": &r.Override} {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return r, err
		}
		if err := yaml.UnmarshalStrict(raw, into); err != nil {
			return r, fmt.Errorf("cannot read %s: %w", file, err)
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(r.Override)), slices.Sorted(maps.Keys(r.Failures))) {
		return r, errors.New("cannot use the override: reasons.yaml and override.yaml have different checks")
	}
	return r, nil
}

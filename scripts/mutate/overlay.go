// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
)

// variable selects the mutant of a test binary. Without it, no condition is inverted.
const variable = "BULKHEAD_MUTANT"

// selected is a file of every mutated package.
const selected = `package %s

import (
	"os"
	"strconv"
)

var selectedMutant, _ = strconv.Atoi(os.Getenv(%q))
`

// mutate returns the source with every condition in a form that one mutant inverts.
func mutate(content []byte, mutants []mutant) []byte {
	type insertion struct {
		at   int
		text string
	}
	var all []insertion
	for _, m := range mutants {
		all = append(all, insertion{m.from, "(("},
			insertion{m.to, fmt.Sprintf(") != (selectedMutant == %d))", m.number)})
	}
	slices.SortStableFunc(all, func(a, b insertion) int { return a.at - b.at })
	var mutated []byte
	done := 0
	for _, i := range all {
		mutated = append(append(mutated, content[done:i.at]...), i.text...)
		done = i.at
	}
	return append(mutated, content[done:]...)
}

// writeOverlay writes the mutated files of a package to a folder, and the file for go build -overlay.
func writeOverlay(folder string, s *source, mutants []mutant) (string, error) {
	replace := map[string]string{}
	write := func(name string, content []byte) error {
		absolute, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		replace[absolute] = filepath.Join(folder, filepath.Base(name))
		return os.WriteFile(replace[absolute], content, 0o600)
	}
	var some *ast.File
	for name, file := range s.files {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		own := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.file != name })
		if err := write(name, mutate(content, own)); err != nil {
			return "", err
		}
		if some = file; replace[""] == "" {
			replace[""] = filepath.Dir(name)
		}
	}
	extra := filepath.Join(replace[""], "selected_mutant.go")
	delete(replace, "")
	if err := write(extra, fmt.Appendf(nil, selected, some.Name, variable)); err != nil {
		return "", err
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, content, 0o600)
}

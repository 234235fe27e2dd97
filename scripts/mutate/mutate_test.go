// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const someSource = `package policy

import "example.com/rules"

var (
	first  = rules.Rule{ID: "XX-A-1"}
	second = rules.Rule{ID: "XX-A-2"}
)

const third rules.ID = "XX-B-1"

func decide(a, b bool) string {
	if a {
		return deny(first)
	}
	switch {
	case !b:
		return deny(second)
	case a && b:
		return string(third)
	}
	return ""
}

func helper(n int) bool { return n > 1 }
`

const wantSource = `
func decide(a, b bool) string {
	if ((a) != (selectedMutant == 1)) {
		return deny(first)
	}
	switch {
	case ((!b) != (selectedMutant == 2)):
		return deny(second)
	case ((a && b) != (selectedMutant == 3)):
		return string(third)
	}
	return ""
}

func helper(n int) bool { return ((n > 1) != (selectedMutant == 4)) }
`

func TestEachConditionIsInverted(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{"policy.go": someSource, "policy_test.go": "not Go"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := parse(folder)
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := s.mutants(os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		got = append(got, m.rule+": "+m.text)
	}
	if want := []string{"XX-A-1: a", "XX-A-2: !b", "XX-B-1: a && b", ": n > 1"}; !slices.Equal(got, want) {
		t.Errorf("conditions %q, want %q", got, want)
	}
	if mutated := string(mutate([]byte(someSource), mutants)); !strings.HasSuffix(mutated, wantSource) {
		t.Errorf("got\n%s\nwant at the end\n%s", mutated, wantSource)
	}
}

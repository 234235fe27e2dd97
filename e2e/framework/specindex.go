// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/types"
)

const (
	// specIndex is the folder of the files that `bulkhead rules ID` lists the specs from.
	specIndex = "../../components/rulebook/specs"
	// updateVariable makes the tests write these files again.
	updateVariable = "BULKHEAD_UPDATE_SPECS"
)

// checkIndex compares the index of the suite in this folder with its specs.
func checkIndex(t *testing.T, preview types.Report) {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(specIndex, filepath.Base(folder)+".txt")
	want := indexOf(preview)
	if os.Getenv(updateVariable) != "" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not the list of these specs (%v): run `make update`", file, err)
	}
}

// indexOf has one line for each spec, in the order of the text: the rules, the outcome and the text,
// separated by tabs.
func indexOf(preview types.Report) string {
	var lines []string
	for spec, claim := range claims(preview) {
		ids := make([]string, len(claim.Rules))
		for i, id := range claim.Rules {
			ids[i] = string(id)
		}
		text := strings.Join(strings.Fields(spec), " ")
		lines = append(lines, strings.Join([]string{strings.Join(ids, ","), string(claim.Want), text}, "\t")+"\n")
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}

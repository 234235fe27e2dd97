// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The linker ignores a flag for a variable that does not exist.
func TestLinkerFlagsNameExistingVariables(t *testing.T) {
	script, err := os.ReadFile("../../../scripts/ldflags.sh")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("version.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(script), "github.com/bulkhead-k8s/bulkhead/components/internal/version\n") {
		t.Error("the script does not name this package")
	}
	flags := regexp.MustCompile(`-X \$\{package\}\.(\w+)=`).FindAllStringSubmatch(string(script), -1)
	if len(flags) != 4 {
		t.Errorf("the script sets %d variables, want 4", len(flags))
	}
	for _, flag := range flags {
		if !regexp.MustCompile(`(?m)^\t` + flag[1] + ` +=`).Match(source) {
			t.Errorf("the script sets %s, which does not exist", flag[1])
		}
	}
}

func TestGetWithoutLinkerFlags(t *testing.T) {
	got := Get()
	if got.Version != "dev" || got.Commit != "unknown" || got.TreeState != "unknown" || got.BuildDate != "unknown" {
		t.Errorf("got %+v", got)
	}
}

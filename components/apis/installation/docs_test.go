// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// yamlBlock matches a block of YAML in a numbered list, which is indented by three spaces.
var yamlBlock = regexp.MustCompile("(?s)   ```yaml\n(.*?)   ```")

func TestExamplesInInstallDocsAreValid(t *testing.T) {
	page, err := os.ReadFile("../../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		text := strings.ReplaceAll("\n"+block[1], "\n   ", "\n")
		if !strings.Contains(text, "kind: "+Kind) {
			continue
		}
		checked++
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if checked == 0 {
		t.Error("docs/install.md has no example of kind " + Kind)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// yamlBlock matches a block of YAML. In a numbered list it is indented by three spaces.
var yamlBlock = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```")

// TestExamplesInDocsAreValid parses every example of kind Installation, on all pages.
func TestExamplesInDocsAreValid(t *testing.T) {
	checked := map[string]int{}
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			example := strings.ReplaceAll("\n"+block[2], "\n"+block[1], "\n")
			if !strings.Contains(example, "\nkind: "+Kind+"\n") {
				continue
			}
			checked[filepath.Base(page)]++
			if _, err := Parse([]byte(example)); err != nil {
				t.Errorf("%s: %v\n%s", page, err, example)
			}
		}
	}
	for page, least := range map[string]int{"install.md": 1, "compatibility.md": 3} {
		if checked[page] < least {
			t.Errorf("%d examples of kind %s on %s, want at least %d", checked[page], Kind, page, least)
		}
	}
}

// TestThePolicyForAddOnsIsThatOfHardened: compatibility.md has the whole policy, with other keys of
// labels, annotations and taints.
func TestThePolicyForAddOnsIsThatOfHardened(t *testing.T) {
	hardened := policyIn(t, "../../../manifests/node-restriction/configuration-hardened.yaml", nil)
	compared := 0
	page := "../../../docs/compatibility.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(block[2], "\nnodePolicy:\n") {
			continue
		}
		compared++
		example := policyIn(t, page, []byte(block[2]))
		for _, list := range []string{"allowedLabels", "allowedTaints", "nodeAnnotations"} {
			delete(example, list)
			delete(hardened, list)
		}
		if diff := cmp.Diff(hardened, example); diff != "" {
			t.Errorf("-hardened +%s:\n%s", page, diff)
		}
	}
	if compared != 1 {
		t.Errorf("%d policies on %s, want 1", compared, page)
	}
}

// policyIn reads a policy from a file, or from the field nodePolicy of an example.
func policyIn(t *testing.T, file string, example []byte) map[string]any {
	t.Helper()
	if example == nil {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var policy map[string]any
		if err := yaml.Unmarshal(text, &policy); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return policy
	}
	var parsed struct {
		NodePolicy map[string]any `json:"nodePolicy"`
	}
	if err := yaml.Unmarshal(example, &parsed); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return parsed.NodePolicy
}

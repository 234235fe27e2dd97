// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rulebook

import (
	"embed"
	"path"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// specFiles has one file for each suite of e2e, one line for each spec: the rules, the outcome and
// the text, separated by tabs. Lines that begin with # are comments. The suites' tests write and check
// them.
//
//go:embed specs/*.txt
var specFiles embed.FS

// Spec is an end-to-end spec of a rule.
type Spec struct {
	// Suite is the folder below e2e.
	Suite string `json:"suite"`
	// Want is the outcome that the spec expects: allow or deny.
	Want string `json:"want"`
	Text string `json:"text"`
}

// Specs returns the specs that are labelled with the rule.
func Specs(id rules.ID) []Spec {
	var specs []Spec
	files, _ := specFiles.ReadDir("specs")
	for _, file := range files {
		data, _ := specFiles.ReadFile(path.Join("specs", file.Name()))
		for line := range strings.Lines(string(data)) {
			ids, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			want, text, _ := strings.Cut(rest, "\t")
			for one := range strings.SplitSeq(ids, ",") {
				if one == string(id) {
					specs = append(specs, Spec{strings.TrimSuffix(file.Name(), ".txt"), want, text})
				}
			}
		}
	}
	return specs
}

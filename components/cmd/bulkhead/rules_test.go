// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestPrintRules(t *testing.T) {
	all := []rules.Rule{
		{ID: "NA-LEASE-3", Promise: "Own name.", Source: "authorizeLease"},
		{ID: "NA-LIMIT", Promise: "A | B.", Source: "design.md", Extension: true},
	}
	for _, tc := range []struct {
		format, want string
	}{
		{"table", "RULE        PROMISE\nNA-LEASE-3  Own name.\nNA-LIMIT    A | B.\n"},
		{"markdown", markdownHeader + `
## Node authorizer

| rule | promise | source | extension |
|---|---|---|---|
| NA-LEASE-3 | Own name. | authorizeLease |  |
| NA-LIMIT | A \| B. | design.md | yes |
`},
		{"json", `[
  {
    "id": "NA-LEASE-3",
    "promise": "Own name.",
    "source": "authorizeLease",
    "extension": false
  },
  {
    "id": "NA-LIMIT",
    "promise": "A | B.",
    "source": "design.md",
    "extension": true
  }
]
`},
	} {
		t.Run(tc.format, func(t *testing.T) {
			var out bytes.Buffer
			if err := printRules(&out, tc.format, all); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestPrintRulesRefusesAnUnknownFormat(t *testing.T) {
	if err := printRules(&bytes.Buffer{}, "yaml", nil); err == nil || !strings.Contains(err.Error(), "table, markdown and json") {
		t.Errorf("error is %v", err)
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	root := newRootCommand()
	for _, cmd := range root.Commands() {
		if cmd.Short == "" {
			t.Errorf("%s has no help", cmd.Name())
		}
	}
	if err := root.ParseFlags(nil); err != nil {
		t.Error(err)
	}
}

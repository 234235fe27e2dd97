// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestPrintRules(t *testing.T) {
	all := []rules.Rule{
		{ID: "NA-LEASE-3", Description: "Own name.", Source: "authorizeLease"},
		{ID: "NA-LIMIT", Description: "A | B.", Source: "KEP-279", Extension: true},
		{ID: "NA-CSR-1", Description: "C.", Source: "D", Extension: true, Optional: true},
		{ID: "NR-LABEL-1", Description: "E.", Source: "F", Extension: true, Configured: true},
		{ID: "KA-AUD-1", Description: "G.", Source: "H", Extension: true, Optional: true, Audited: true},
	}
	for _, tc := range []struct {
		format, want string
	}{
		{"table", "RULE        HARDENED       PARITY            DESCRIPTION\nNA-LEASE-3  always         always            " +
			"Own name.\nNA-LIMIT    always         always            A | B.\nNA-CSR-1    enforce        off               " +
			"C.\nNR-LABEL-1  as configured  no configuration  E.\nKA-AUD-1    audit          off               G.\n"},
		{"markdown", markdownHeader + `
## Node authorizer

- **NA-LEASE-3**: Own name.
  - Source: authorizeLease
- **NA-LIMIT**: A | B.
  - Source: KEP-279
  - Extension
- **NA-CSR-1**: C.
  - Source: D
  - Extension
  - In force: hardened enforce, parity off

## NodeRestriction

- **NR-LABEL-1**: E.
  - Source: F
  - Extension
  - In force: hardened as configured, parity no configuration

## Kubelet API

- **KA-AUD-1**: G.
  - Source: H
  - Extension
  - In force: hardened audit, parity off
`},
		{"json", `[
  {
    "id": "NA-LEASE-3",
    "description": "Own name.",
    "promise": "Own name.",
    "source": "authorizeLease",
    "extension": false,
    "optional": false
  },
  {
    "id": "NA-LIMIT",
    "description": "A | B.",
    "promise": "A | B.",
    "source": "KEP-279",
    "extension": true,
    "optional": false
  },
  {
    "id": "NA-CSR-1",
    "description": "C.",
    "promise": "C.",
    "source": "D",
    "extension": true,
    "optional": true,
    "defaults": {
      "hardened": "enforce",
      "parity": "off"
    }
  },
  {
    "id": "NR-LABEL-1",
    "description": "E.",
    "promise": "E.",
    "source": "F",
    "extension": true,
    "optional": false,
    "configured": true
  },
  {
    "id": "KA-AUD-1",
    "description": "G.",
    "promise": "G.",
    "source": "H",
    "extension": true,
    "optional": true,
    "defaults": {
      "hardened": "audit",
      "parity": "off"
    }
  }
]
`},
	} {
		t.Run(tc.format, func(t *testing.T) {
			var out bytes.Buffer
			if err := printRules(&out, tc.format, all, false, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRulesCommand(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, tc := range []struct {
		args []string
		want []string
		fail bool
	}{
		{[]string{"nr-label-1"}, []string{"Rule:        NR-LABEL-1\n", "Needs:       a policy of node-restriction",
			`Exception:   nodePolicy: {allowedLabels: ["KEY"]}`, "\n             noderestriction, allow: ",
			"\nHere:        not known; ask the cluster with `bulkhead rules NR-LABEL-1 --live`\n"}, false},
		{[]string{"NA-SECRET-1"}, []string{"\n             nodeauthorizer, allow: ", " more: -o yaml prints all "}, false},
		{[]string{"*-label-*"}, []string{"RULE ", "\nNR-LABEL-1 "}, false},
		{[]string{"NR-LABEL"}, []string{"RULE ", "\nNR-LABEL-1 ", "\nNR-LABEL-2 "}, false},
		{[]string{"NR-LABEL-1", "-o", "wide"}, []string{"SPECS", "NEEDS"}, false},
		{[]string{"NR-LABEL-1", "-o", "yaml"},
			[]string{"- component: NodeRestriction\n", "id: NR-LABEL-1", "suite: "}, false},
		{[]string{"NR-LABEL-1", "-o", "json"}, []string{`"id": "NR-LABEL-1"`, `"exception": [`}, false},
		{[]string{"-o", "yml"}, []string{"table, wide, yaml, json or markdown"}, true},
		{[]string{"NR-NONE"}, []string{"has no such rule"}, true},
		{[]string{""}, []string{"invalid pattern"}, true},
		{[]string{"["}, []string{"invalid pattern"}, true},
		{[]string{"secret"}, []string{`cannot find a rule "secret": `, "`bulkhead rules '*SECRET*'`"}, true},
		{[]string{"NR-LAB"}, []string{"`bulkhead rules '*NR-LAB*'`"}, true},
		{[]string{"*LABEL"}, []string{"`bulkhead rules '*LABEL*'`"}, true},
	} {
		var out bytes.Buffer
		cmd := newRulesCommand()
		cmd.SetArgs(tc.args)
		cmd.SetOut(&out)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.Execute()
		text := out.String()
		if err != nil {
			text = err.Error()
		}
		for _, want := range tc.want {
			if (err != nil) != tc.fail || !strings.Contains(text, want) {
				t.Errorf("%v: %v, want %q in\n%s", tc.args, err, want, text)
			}
		}
	}
}

func TestWriteWrapped(t *testing.T) {
	var b strings.Builder
	word := strings.Repeat("é", 48)
	writeWrapped(&b, "- ", word+" "+word+"x "+word)
	if want := "- " + word + " " + word + "x\n  " + word + "\n"; b.String() != want {
		t.Errorf("wrapped:\n%s, want:\n%s", b.String(), want)
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

// Parity has no kubelet-auth-proxy, and none of its rules.
func TestRulesOfKubeletsInParity(t *testing.T) {
	for _, r := range kubeletauth.Rules {
		want := "no proxy"
		if r.Optional {
			want = "off"
		}
		if got := rulebook.DefaultIn(controlplane.Parity, r); got != want {
			t.Errorf("%s is %q, want %q", r.ID, got, want)
		}
	}
}

// The rules of node scope are in two tables. No ID is in two tables.
func TestRulesOfAllComponents(t *testing.T) {
	seen, scoped := map[rules.ID]bool{}, 0
	for _, r := range allRules() {
		if seen[r.ID] {
			t.Errorf("%s occurs twice", r.ID)
		}
		seen[r.ID] = true
		of, _, _ := strings.Cut(string(r.ID), "-")
		if rulebook.Components[of] == "" {
			t.Errorf("%s is of no component", r.ID)
		}
		if of == "NS" {
			scoped++
			for _, p := range []controlplane.Profile{controlplane.Hardened, controlplane.Parity} {
				if got := rulebook.DefaultIn(p, r); got != "with node scope" {
					t.Errorf("%s is %q in %s", r.ID, got, p)
				}
			}
		}
	}
	if !seen["NS-SCOPE-1"] || !seen["NS-WRITE-4"] || scoped < 20 {
		t.Errorf("%d rules of node scope", scoped)
	}
}

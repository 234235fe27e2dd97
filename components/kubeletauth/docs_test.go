// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// TestDocsTable checks the table in docs/kubelet-api.md of the rights for each path in each mode.
// The expected rows are generated from the mapping.
func TestDocsTable(t *testing.T) {
	raw, err := os.ReadFile("../../docs/kubelet-api.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[Mode]map[string]bool{Compat: {}, Strict: {}}
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "| `/") {
			continue
		}
		// The table for strict has one more column: the rules.
		mode := Compat
		if strings.Count(line, "|") > 4 {
			mode = Strict
		}
		path, _, _ := strings.Cut(strings.TrimPrefix(line, "| `"), "`")
		first, _ := cutSegment(path[1:])
		documented[mode][first] = true
		if want := docsRow(t, mode, path); strings.TrimSpace(line) != want {
			t.Errorf("the row of %s is\n%swant\n%s", path, line, want)
		}
	}
	for mode, paths := range documented {
		for _, first := range firstSegments {
			if !paths[first] {
				t.Errorf("%s: no row begins with /%s", mode, first)
			}
		}
	}
}

// rightsOfThePolicy is the table of the policy KA-VAP-1, generated from the mapping.
func rightsOfThePolicy() string {
	var rows []string
	for _, path := range ServerPaths() {
		var rights []string
		for _, a := range path.Rights {
			rights = append(rights, fmt.Sprintf("'%s %s'", a.Verb, a.Subresource))
		}
		rows = append(rows, fmt.Sprintf("'%s': [%s]", path.Prefix, strings.Join(rights, ", ")))
	}
	slices.Sort(rows)
	return "{\n          " + strings.Join(rows, ",\n          ") + "\n        }"
}

// TestTableOfThePolicy checks that a path needs the same rights through the API server as at the
// node's port.
func TestTableOfThePolicy(t *testing.T) {
	raw, err := os.ReadFile("../../manifests/kubelet-auth-proxy/apiserver/static-policies/kubelet-api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := rightsOfThePolicy(); !strings.Contains(string(raw), want) {
		t.Errorf("the policy's variable \"rights\" is not made from the mapping; want\n%s", want)
	}
}

// TestDescriptionOfThePolicy checks that the rule's description names every right in the table.
func TestDescriptionOfThePolicy(t *testing.T) {
	i := slices.IndexFunc(aroundRules, func(r rules.Rule) bool { return r.ID == RuleVAP })
	description := aroundRules[i].Description
	for _, path := range ServerPaths() {
		for _, a := range path.Rights {
			clause := regexp.MustCompile(a.Verb + ` on [^;.]*nodes/` + a.Subresource + `\b`)
			if !clause.MatchString(description) {
				t.Errorf("/%s needs %s on nodes/%s, and the rule says: %s", path.Prefix, a.Verb, a.Subresource, description)
			}
		}
	}
}

// TestServerPaths checks some rows against expected values, because the policy's decisions depend
// on them.
func TestServerPaths(t *testing.T) {
	got := map[string][]Attributes{}
	for _, path := range ServerPaths() {
		got[path.Prefix] = path.Rights
	}
	for prefix, want := range map[string]string{
		"exec": "create exec", "portforward": "create portforward", "containerlogs": "get containerlogs",
		"debug":       "get debug",
		"debug/flags": "update debug", "checkpoint": "create checkpoint", "metrics": "get metrics", "logs": "get log",
		"pods":          "get pods, get proxy",
		"allocatedpods": "get pods", "flagz": "get configz", "*": "create unknown",
	} {
		_, rights, _ := strings.Cut(written(Mapping{Attempts: got[prefix]}), ": ")
		if rights != want {
			t.Errorf("/%s needs %q, want %q", prefix, rights, want)
		}
	}
	if len(got) != len(firstSegments)+2 {
		t.Errorf("%d prefixes of %d endpoints", len(got), len(firstSegments))
	}
}

// docsRow is the row of a mode's table for a path: the rights for GET and for POST. In strict, an
// upgrade needs the same rights as POST, and the row also names the rules.
func docsRow(t *testing.T, mode Mode, path string) string {
	t.Helper()
	get := mapped(t, mode, Request{Method: "GET", Path: path})
	post := mapped(t, mode, Request{Method: "POST", Path: path})
	upgrade := mapped(t, mode, Request{Method: "GET", Path: path, Upgrade: true})
	cells := []string{"`" + path + "`", docsRights(get), docsRights(post)}
	same := post
	if mode == Strict {
		rules := string(get.Rule)
		if upgrade.Rule != get.Rule {
			rules += ", " + string(upgrade.Rule)
		}
		cells = append(cells, rules)
	} else {
		same = get
	}
	if docsRights(upgrade) != docsRights(same) {
		t.Errorf("%s %s with an upgrade needs %s, and has no column of its own", mode, path, docsRights(upgrade))
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

func mapped(t *testing.T, mode Mode, r Request) Mapping {
	t.Helper()
	mapping, refusal := mode.Map(r)
	if refusal != nil {
		t.Fatalf("%+v: %+v", r, refusal)
	}
	return mapping
}

// docsRights are the rights in a mapping. One of them is enough.
func docsRights(m Mapping) string {
	_, rights, _ := strings.Cut(written(m), ": ")
	return strings.ReplaceAll(rights, ", ", " or ")
}

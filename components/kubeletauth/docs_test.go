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

// TestDocsTable: docs/kubelet-api.md has a table of what each path needs in each mode. Its
// rows are made from the mapping here, so that they cannot say anything else.
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
		// Strict has a column more: the rules.
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

// rightsOfThePolicy is the table of the policy KA-VAP-1, made from the mapping.
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

// TestTableOfThePolicy: what a path needs at the node's port it needs through the API server.
func TestTableOfThePolicy(t *testing.T) {
	raw, err := os.ReadFile("../../manifests/kubelet-auth-proxy/apiserver/static-policies/kubelet-api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := rightsOfThePolicy(); !strings.Contains(string(raw), want) {
		t.Errorf("the policy's variable \"rights\" is not made from the mapping; want\n%s", want)
	}
}

// TestDescriptionOfThePolicy: the rule's description names every right of the table.
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

// TestServerPaths holds a few rows by hand: deny and allow of the policy follow from them.
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

// docsRow is what the table of a mode says of a path: what it needs with GET and with POST,
// and in strict, where an upgrade needs the same as POST, by which rules.
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

// docsRights are the rights of a mapping, one of which is enough.
func docsRights(m Mapping) string {
	_, rights, _ := strings.Cut(written(m), ": ")
	return strings.ReplaceAll(rights, ", ", " or ")
}

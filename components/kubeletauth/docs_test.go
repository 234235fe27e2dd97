// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// TestDocsTable: docs/kubelet-api.md has a table of what each path needs. Its rows
// are made from the mapping here, so that they cannot say anything else.
func TestDocsTable(t *testing.T) {
	raw, err := os.ReadFile("../../docs/kubelet-api.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "| `/") {
			continue
		}
		path, _, _ := strings.Cut(strings.TrimPrefix(line, "| `"), "`")
		first, _ := cutSegment(path[1:])
		documented[first] = true
		if want := docsRow(t, path); strings.TrimSpace(line) != want {
			t.Errorf("the row of %s is\n%swant\n%s", path, line, want)
		}
	}
	for _, first := range firstSegments {
		if !documented[first] {
			t.Errorf("no row begins with /%s", first)
		}
	}
}

// TestPromiseOfThePolicy holds the promise about the second road against the policy.
func TestPromiseOfThePolicy(t *testing.T) {
	raw, err := os.ReadFile("../../manifests/kubelet-auth-proxy/apiserver/static-policies/kubelet-api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`variables\.first in \[([^]]+)\]`).FindStringSubmatch(string(raw))
	if asked == nil {
		t.Fatal("the policy does not say what it asks about")
	}
	i := slices.IndexFunc(aroundRules, func(r rules.Rule) bool { return r.ID == RuleVAP })
	promise := aroundRules[i].Promise
	for quoted := range strings.SplitSeq(asked[1], ", ") {
		if subresource := "nodes/" + strings.Trim(quoted, "'"); !strings.Contains(promise, subresource) {
			t.Errorf("it asks about %s, and promises: %s", subresource, promise)
		}
	}
	if strings.Contains(promise, "create on nodes/proxy") {
		t.Errorf("it does not ask for create on nodes/proxy, and promises: %s", promise)
	}
}

func docsRow(t *testing.T, path string) string {
	t.Helper()
	cells := []string{"`" + path + "`"}
	for _, mode := range []Mode{Compat, Strict} {
		for _, r := range []Request{{Method: "GET", Path: path}, {Method: "POST", Path: path}, {Method: "GET", Path: path, Upgrade: true}} {
			if mode == Compat && r.Upgrade {
				continue
			}
			mapping, refusal := mode.Map(r)
			if refusal != nil {
				t.Fatalf("%+v: %+v", r, refusal)
			}
			id, rights, _ := strings.Cut(written(mapping), ": ")
			cells = append(cells, strings.ReplaceAll(rights, ", ", " or "))
			if mode == Strict && r.Upgrade {
				plain, _ := Strict.Map(Request{Method: "GET", Path: path})
				cells = append(cells, strings.TrimSuffix(string(plain.Rule)+", "+id, ", "+string(plain.Rule)))
			}
		}
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) {
	const closed = "node-restriction.kubernetes.io/pool"
	for _, row := range []struct {
		name     string
		entries  string
		reserved reservation
		has, not string
	}{
		{"none", "", centrallySet, "", "a example.com/a kubernetes.io/hostname " + closed},
		{"a key", "a", centrallySet, "a", "b aa a/a A"},
		{"a beginning", "a*", centrallySet, "a aa a/b", "b ba"},
		{"the proposal's beginning", "csi.kubernetes.io.*", centrallySet, "csi.kubernetes.io.x csi.kubernetes.io.x/y",
			"csi.kubernetes.io/x csi.kubernetes.io"},
		{"a domain", "example.com/*", centrallySet, "example.com/a", "example.com.x/a sub.example.com/a example.co/a"},
		{"beginnings of beginnings", "ab* a* abc* b/c*", centrallySet, "a ab abc abd azz b/c b/cd", "b b/ b/b c"},
		{"all but reserved keys", "*", centrallySet,
			"a kubernetes.io/x node-role.kubernetes.io/x x.kubernetes.io/node-restriction.kubernetes.io " +
				"not-node-restriction.kubernetes.io/x", closed + " sub." + closed},
		{"pattern that also covers reserved keys",
			"n* node* node-restriction*", centrallySet, "n node-x node-restriction.example.com/a",
			closed},
		{"named by key", closed, centrallySet, closed, closed + "s sub." + closed},
		{"named by a beginning", "node-restriction.kubernetes.io/*", centrallySet, closed, "sub." + closed + " a"},
		{"named by half a key", "node-restriction.kubernetes.io/po*", centrallySet, closed,
			"node-restriction.kubernetes.io/other"},
		{"a domain below", "sub.node-restriction.kubernetes.io/*", centrallySet, "sub." + closed, closed},
		{"all and named", "* node-restriction.kubernetes.io/*", centrallySet, closed + " a", "sub." + closed},
		{"all sticky", "*", ofTheControlPlane, "a " + closed,
			"node.kubernetes.io/not-ready node.kubernetes.io/unschedulable node.cloudprovider.kubernetes.io/uninitialized"},
		{"sticky by name", "node.kubernetes.io/unschedulable n*", ofTheControlPlane, "node.kubernetes.io/unschedulable nn",
			"node.kubernetes.io/out-of-service"},
		{"sticky by beginning", "node.kubernetes.io/*", ofTheControlPlane, "", "node.kubernetes.io/unschedulable"},
		{"all that a node may change", "*", setByOthers, "a node-restriction.example.com/a",
			closed + " node.kubernetes.io/not-ready node.cloudprovider.kubernetes.io/uninitialized"},
		{"changed by name", "node.kubernetes.io/not-ready node-restriction.kubernetes.io/*", setByOthers,
			closed + " node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"},
		{"no reserved keys", "*", reservation{}, "a " + closed + " node.kubernetes.io/not-ready", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			keys := newKeys(strings.Fields(row.entries), row.reserved)
			for key := range strings.FieldsSeq(row.has) {
				if !keys.Has(key) {
					t.Errorf("has no %s", key)
				}
			}
			for key := range strings.FieldsSeq(row.not) {
				if keys.Has(key) {
					t.Errorf("has %s", key)
				}
			}
		})
	}
}

func TestNoKeys(t *testing.T) {
	var none *Keys
	if none.Has("a") || none.Names("a") || none.Has("") {
		t.Error("nil has something")
	}
	if NewKeys("a*").Names("a") || !NewKeys("a").Names("a") {
		t.Error("only an entry of its own names a key")
	}
}

func TestMachineTableParsing(t *testing.T) {
	c, err := Parse([]byte(head + `
machines:
- {name: "*", labels: {a: all}}
- {name: "pool-*", labels: {a: pool}}
- {name: "pool-1*", labels: {a: ones}}
- {name: pool-1, labels: {a: one}}
- {name: bare}
`))
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]map[string]string{
		"x": {"a": "all"}, "pool-": {"a": "pool"}, "pool-2": {"a": "pool"}, "pool-1": {"a": "one"}, "pool-11": {"a": "ones"},
		"bare": {},
	} {
		got := c.LabelsFor(node)
		if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
			t.Errorf("%s: %s", node, diff)
		}
	}
	c.LabelsFor("x")["a"] = "mine"
	if got := c.LabelsFor("x")["a"]; got != "all" {
		t.Errorf("the table was changed to %q by who read it", got)
	}
	var none *Configuration
	if none.LabelsFor("x") != nil || Defaults().MachineFor("x") != nil {
		t.Error("there is a row in no table")
	}
}

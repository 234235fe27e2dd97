// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

const head = "apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\n"

// TestInvalidConfigurationIsRejected checks invalid files. Each has a valid counterpart that differs in one place.
func TestInvalidConfigurationIsRejected(t *testing.T) {
	for _, row := range []struct{ name, good, bad, says string }{
		{"no field like that", "allowedLabels: [a]", "allowedLabel: [a]",
			`line 3: unknown field "allowedLabel"; did you mean "allowedLabels"?`},
		{"no field like that in a part", "mirrorPods: {mode: warn}", "mirrorPods: {mode: warn, modus: x}",
			`line 3: unknown field "mirrorPods.modus"`},
		{"case matters", "caps: {}", "Caps: {}", `line 3: unknown field "Caps"`},
		{"twice", "allowedLabels: [a]\nallowedTaints: [a]", "allowedLabels: [a]\nallowedLabels: [a]",
			`line 4: duplicate field "allowedLabels", first in line 3`},
		{"twice in a part", "caps:\n  mirrorPods: 1\n  resourceSlices: 1", "caps:\n  mirrorPods: 1\n  mirrorPods: 1",
			`line 5: duplicate field "caps.mirrorPods", first in line 4`},
		{"every problem is reported", "caps: {}\nmachines: []", "caps: 1\nmachines: 1",
			"line 3: caps must be an object\nline 4: machines must be a list"},
		{"a bare star in a list", "allowedLabels:\n- \"*\"", "allowedLabels:\n- *",
			`line 4: to YAML a bare * is an alias, of which there can be none here: quote it: "*"`},
		{"a bare star in brackets", "allowedLabels: [\"*\"]", "allowedLabels: [*]",
			`line 3: to YAML a bare * is an alias, of which there can be none here: quote it: "*"`},
		{"a bare star alone", "nodeAnnotations: [a]", "nodeAnnotations: *",
			`line 3: to YAML a bare * is an alias, of which there can be none here: quote it: "*"`},
		{"a star before text", "allowedLabels:\n- a*", "allowedLabels:\n- *a",
			`line 4: to YAML a bare *a is an alias, of which there can be none here: quote it: "*a"`},
		{"a star in the middle", "allowedLabels: [\"a*\"]", "allowedLabels: [\"a*b\"]",
			`line 3: allowedLabels[0]: "a*b" name part must consist of`},
		{"two stars", "allowedLabels: [\"a*\"]", "allowedLabels: [\"a**\"]",
			`line 3: allowedLabels[0]: "a**" is not the beginning of anything`},
		{"no key", "allowedTaints: [a/b]", "allowedTaints: [a/b/c]",
			`line 3: allowedTaints[0]: "a/b/c" a valid label key must`},
		{"an empty key", "allowedTaints: [a]", "allowedTaints: [\"\"]",
			`line 3: allowedTaints[0]: "" name part must be non-empty`},
		{"pattern with an empty name", "allowedLabels: [\"a/b*\"]", "allowedLabels: [\"a/b/*\"]",
			`line 3: allowedLabels[0]: "a/b/*" is not the beginning`},
		{"a number for a string", "allowedLabels: [\"1\"]", "allowedLabels: [1]",
			"line 3: allowedLabels[0] must be a string; put it in quotes"},
		{"null for a string", "allowedLabels: [\"null\"]", "allowedLabels: [null]",
			"line 3: allowedLabels[0] must be a string"},
		{"null for a list", "allowedLabels: []", "allowedLabels:",
			"line 3: allowedLabels must be a list; [] is an empty one"},
		{"a string for a list", "allowedLabels: [a]", "allowedLabels: a", "line 3: allowedLabels must be a list"},
		{"a list for an object", "caps: {}", "caps: []", "line 3: caps must be an object"},
		{"key that is not a string", "machines: [{name: a, labels: {a: b}}]", "machines: [{name: a, labels: {[a]: b}}]",
			"line 3: machines[0].labels has a key that is not a string"},
		{"an anchor", "allowedLabels: [a]", "allowedLabels: &x [a]", "line 3: anchors (&x) are not allowed"},
		{"an alias", "allowedLabels: [a]\nallowedTaints: [a]", "allowedLabels: &x [a]\nallowedTaints: *x",
			"line 3: anchors (&x) are not allowed\nline 4: to YAML a bare *x is an alias"},
		{"a merge", "caps: {mirrorPods: 1}", "caps: {<<: {mirrorPods: 1}}", `line 3: unknown field "caps.<<"`},
		{"a tag", "allowedLabels: [a]", "allowedLabels: [!!str a]", "line 3: tags (!!str) are not allowed"},
		{"sticky for a time", "stickyTaints: [node.kubernetes.io/unschedulable]",
			"stickyTaints: [node.kubernetes.io/not-ready]",
			`line 3: stickyTaints[0]: "node.kubernetes.io/not-ready" is set and removed by the control plane`},
		{"a machine without a name", "machines: [{name: a}]", "machines: [{labels: {}}]", "line 3: machines[0] needs a name"},
		{"a machine twice", "machines:\n- name: a\n- name: b", "machines:\n- name: a\n- name: a",
			`line 5: machines[1]: there is a row for "a" in line 4`},
		{"a machine that cannot be", "machines: [{name: a.b-*}]", "machines: [{name: A}]",
			`line 3: machines[0].name: "A" a lowercase RFC 1123 subdomain`},
		{"a pattern that cannot be", "machines: [{name: \"a-*\"}]", "machines: [{name: \"-*\"}]",
			`line 3: machines[0].name: "-*" is not the beginning`},
		{"a label that cannot be", "machines: [{name: a, labels: {a: b}}]", "machines: [{name: a, labels: {a: \"b c\"}}]",
			`line 3: machines[0].labels.a: "b c" a valid label must`},
		{"a label's key that cannot be", "machines: [{name: a, labels: {a: b}}]", "machines: [{name: a, labels: {a b: b}}]",
			`line 3: machines[0].labels.a b: "a b" name part`},
		{"a taint without a key", "machines: [{name: a, taints: [{key: a, effect: NoSchedule}]}]",
			"machines: [{name: a, taints: [{effect: NoSchedule}]}]", "line 3: machines[0].taints[0] needs a field key"},
		{"a taint without an effect", "machines: [{name: a, taints: [{key: a, effect: NoExecute}]}]",
			"machines: [{name: a, taints: [{key: a}]}]", "line 3: machines[0].taints[0] needs a field effect"},
		{"a taint of no effect", "machines: [{name: a, taints: [{key: a, effect: PreferNoSchedule}]}]",
			"machines: [{name: a, taints: [{key: a, effect: noschedule}]}]",
			`line 3: machines[0].taints[0].effect is "noschedule"; it must be NoSchedule, PreferNoSchedule or NoExecute`},
		{"a taint's value that cannot be", "machines: [{name: a, taints: [{key: a, value: b, effect: NoExecute}]}]",
			"machines: [{name: a, taints: [{key: a, value: \"b!\", effect: NoExecute}]}]",
			`line 3: machines[0].taints[0].value: "b!" a valid label must`},
		{"a taint of the control plane",
			"machines: [{name: a, taints: [{key: node.kubernetes.io/out-of-service, effect: NoExecute}]}]",
			"machines: [{name: a, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}]",
			`line 3: machines[0].taints[0].key: "node.kubernetes.io/unschedulable" is set and removed by the control plane`},
		{"a taint of a node's condition", "machines: [{name: a, taints: [{key: not-ready, effect: NoSchedule}]}]",
			"machines: [{name: a, taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]}]",
			`line 3: machines[0].taints[0].key: "node.kubernetes.io/not-ready" is set and removed by the control plane`},
		{"the startup taint", "machines: [{name: a, taints: [{key: bulkhead.dev/other, effect: NoSchedule}]}]",
			"machines: [{name: a, taints: [{key: bulkhead.dev/uninitialized, effect: NoSchedule}]}]",
			`line 3: machines[0].taints[0].key: "bulkhead.dev/uninitialized" is what machine-table-controller removes`},
		{"a taint twice", "machines: [{name: a, taints: [{key: a, effect: NoExecute}, {key: a, effect: NoSchedule}]}]",
			"machines: [{name: a, taints: [{key: a, effect: NoExecute}, {key: a, value: b, effect: NoExecute}]}]",
			"line 3: machines[0].taints[1]: there is another taint a:NoExecute in this row"},
		{"mirror pods without a mode", "mirrorPods: {mode: off}", "mirrorPods: {}",
			"line 3: mirrorPods needs a mode: off, warn or enforce"},
		{"no such mode", "mirrorPods: {mode: warn}", "mirrorPods: {mode: audit}",
			`line 3: mirrorPods.mode is "audit"; it must be off, warn or enforce`},
		{"string for a boolean", "mirrorPods: {mode: warn, allowUnrestrictedPrefix: true}",
			"mirrorPods: {mode: warn, allowUnrestrictedPrefix: \"true\"}",
			"line 3: mirrorPods.allowUnrestrictedPrefix must be true or false"},
		{"star in the middle of a denied key", "mirrorPods: {mode: warn, deniedLabelKeys: [\"a*\"]}",
			"mirrorPods: {mode: warn, deniedLabelKeys: [\"a*b\"]}", `line 3: mirrorPods.deniedLabelKeys[0]: "a*b" name part`},
		{"allowed key that is not one", "mirrorPods: {mode: warn, allowedLabelKeys: [\"*\"]}",
			"mirrorPods: {mode: warn, allowedLabelKeys: [a/b/c]}",
			`line 3: mirrorPods.allowedLabelKeys[0]: "a/b/c" a valid label key must`},
		{"negative number", "caps: {mirrorPods: 0}", "caps: {mirrorPods: -1}",
			"line 3: caps.mirrorPods must be a number from 0 to 1000000"},
		{"half", "caps: {mirrorPods: 1}", "caps: {mirrorPods: 1.5}",
			"line 3: caps.mirrorPods must be an integer of at most 64 bits, without quotes"},
		{"a number in quotes", "caps: {mirrorPods: 1}", "caps: {mirrorPods: \"1\"}",
			"line 3: caps.mirrorPods must be an integer of at most 64 bits, without quotes"},
		{"a short life", "maxTokenSeconds: 600", "maxTokenSeconds: 599",
			"line 3: maxTokenSeconds must be 0, or a number from 600 to 4294967296"},
		{"more than a number", "maxTokenSeconds: 0", "maxTokenSeconds: 99999999999999999999",
			"line 3: maxTokenSeconds must be an integer of at most 64 bits"},
		{"bootstrap names without a user or group", "bootstrapNodeNames: [{user: a, names: [b]}]",
			"bootstrapNodeNames: [{names: [b]}]", "line 3: bootstrapNodeNames[0] needs either a user or a group"},
		{"bootstrap names with both", "bootstrapNodeNames: [{group: a, names: [b]}]",
			"bootstrapNodeNames: [{user: a, group: a, names: [b]}]",
			"line 3: bootstrapNodeNames[0] needs either a user or a group"},
		{"bootstrap names without a user", "bootstrapNodeNames: []", "bootstrapNodeNames: [{user: \"\", names: [b]}]",
			"line 3: bootstrapNodeNames[0].user must not be empty"},
		{"bootstrap row without names", "bootstrapNodeNames: [{user: a, names: []}]", "bootstrapNodeNames: [{user: a}]",
			"line 3: bootstrapNodeNames[0] needs names; [] allows none"},
		{"bootstrap name that is not a node name", "bootstrapNodeNames: [{user: a, names: [\"b-*\"]}]",
			"bootstrapNodeNames: [{user: a, names: [B]}]",
			`line 3: bootstrapNodeNames[0].names[0]: "B" a lowercase RFC 1123 subdomain`},
		{"bootstrap names as an object", "bootstrapNodeNames: []", "bootstrapNodeNames: {}",
			"line 3: bootstrapNodeNames must be a list"},
		{"invalid machine address", "machines: [{name: a, addresses: [192.0.2.1, \"2001:db8::/64\"]}]",
			"machines: [{name: a, addresses: [192.0.2.256]}]", `line 3: machines[0].addresses[0]: "192.0.2.256" must be an IP`},
		{"a machine's range that begins elsewhere", "machines: [{name: a, addresses: [192.0.2.0/24]}]",
			"machines: [{name: a, addresses: [192.0.2.1/24]}]",
			`line 3: machines[0].addresses[0]: "192.0.2.1/24" must be an IP, or a range of IPs`},
		{"a machine's address with a zone", "machines: [{name: a, addresses: [\"fd00::1\"]}]",
			"machines: [{name: a, addresses: [\"fd00::1%a\"]}]", `line 3: machines[0].addresses[0]: "fd00::1%a" must be an IP`},
		{"two documents", "---\ncaps: {}", "---\n" + head, "line 3: begins another document; there must be one"},
		{"no YAML", "caps: {}", "caps: {", "is neither YAML nor JSON: "},
		{"tabs", "caps:\n  mirrorPods: 1", "caps:\n\tmirrorPods: 1", "is neither YAML nor JSON: "},
		{"no UTF-8", "# \u00e9", "# \xe9", "line 3: is not UTF-8"},
		{"a NUL", "# a", "# a\x00", "is neither YAML nor JSON: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			good := head + row.good
			if rest, isWhole := strings.CutPrefix(row.good, "---\n"); isWhole {
				good = "---\n" + head + rest
			}
			if _, err := Parse([]byte(good)); err != nil {
				t.Errorf("the good one: %v", err)
			}
			c, err := Parse([]byte(head + row.bad))
			if c != nil || err == nil || !strings.HasPrefix(err.Error(), row.says) {
				t.Errorf("got %v, %v\nwant %s", c, err, row.says)
			}
		})
	}
}

func TestRefusedAsAWhole(t *testing.T) {
	for _, row := range []struct{ name, text, says string }{
		{"nothing", "", "is empty"},
		{"blanks", " \n\n", "is empty"},
		{"a comment", "# a\n", "is empty"},
		{"null document", "---\n", "is empty"},
		{"null", "null", "is empty"},
		{"a list", "[]", "line 1: the file must be an object with apiVersion noderestriction.admission.k8s.io/v1 and kind " +
			"Configuration"},
		{"text", "a", "line 1: the file must be an object with"},
		{"null object", "{}",
			"line 1: apiVersion is missing; it must be noderestriction.admission.k8s.io/v1\nline 1: kind is missing; it must " +
				"be Configuration"},
		{"another kind", "apiVersion: noderestriction.admission.k8s.io/v1\nkind: Policy\nx: 1",
			`line 2: kind is "Policy"; this program supports only Configuration`},
		{"another version", "kind: Configuration\napiVersion: noderestriction.admission.k8s.io/v2",
			`line 2: apiVersion is "noderestriction.admission.k8s.io/v2"; ` +
				`this program supports only noderestriction.admission.k8s.io/v1`},
		{"JSON with a field too many",
			"{\n\t\"apiVersion\": \"noderestriction.admission.k8s.io/v1\",\n\t\"kind\": \"Configuration\",\n\t\"caps\": " +
				"{\"x\": 1}\n}", `line 4: unknown field "caps.x"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := Parse([]byte(row.text))
			if c != nil || err == nil || !strings.HasPrefix(err.Error(), row.says) {
				t.Errorf("got %v, %v\nwant %s", c, err, row.says)
			}
		})
	}
}

// bomb returns nine levels of lists of nine aliases. The text is a few hundred bytes, but would
// expand to a thousand million elements.
func bomb() string {
	var b strings.Builder
	b.WriteString(head + "allowedLabels:\n- &a0 [x,x,x,x,x,x,x,x,x]\n")
	for level := 1; level < 10; level++ {
		alias := fmt.Sprintf("*a%d", level-1)
		fmt.Fprintf(&b, "- &a%d [%s]\n", level,
			strings.Join([]string{alias, alias, alias, alias, alias, alias, alias, alias, alias}, ","))
	}
	return b.String()
}

func TestHostileFilesAreRejected(t *testing.T) {
	for _, row := range []struct{ name, text, says string }{
		{"a bomb", bomb(), "line 4: anchors (&a0) are not allowed"},
		{"a file that is too long", head + strings.Repeat("#", MaxBytes),
			"is 1048644 bytes long, which is more than 1048576"},
		{"deep lists", head + "caps: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
			"line 3: caps must be an object"},
		{"deeper lists", head + "caps: " + strings.Repeat("[", 400_000), "is neither YAML nor JSON: "},
		{"many unknown fields", head + manyFields(), "line 3: unknown field \"f0\"; the fields are "},
		{"a long field", head + strings.Repeat("x", 1000) + ": 1",
			`line 3: unknown field "` + strings.Repeat("x", 80) + `..."`},
		{"a label with a long key and without a string",
			head + "machines:\n- name: a\n  labels:\n    ? " + strings.Repeat("x", 10_000) + "\n    : 1",
			"line 7: machines[0].labels." + strings.Repeat("x", 80) + "... must be a string"},
	} {
		t.Run(row.name, func(t *testing.T) {
			begin := time.Now()
			c, err := Parse([]byte(row.text))
			if c != nil || err == nil || !strings.HasPrefix(err.Error(), row.says) {
				t.Fatalf("got %v, %.300s\nwant %s", c, err, row.says)
			}
			if len(err.Error()) > 8000 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func manyFields() string {
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, "f%d: 1\n", i)
	}
	return b.String()
}

func TestALongFileIsRead(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(head + "allowedLabels:\n")
	for i := 0; b.Len() < MaxBytes-100; i++ {
		fmt.Fprintf(&b, "- example.com/label-%d\n- p%d.example.com/*\n", i, i)
	}
	c, err := Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{
		"example.com/label-777": true, "p777.example.com/x": true, "example.com/label-x": false, "p777.example.org/x": false,
		"p777": false,
	} {
		if got := c.AllowedLabels.Has(key); got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", head, bomb(), head + "allowedLabels:\n- *", head + "caps: {<<: *a}",
		"{\"kind\":\t1}", "--- |\n a\n...\n%YAML 1.1\n---\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if (c == nil) == (err == nil) {
			t.Fatalf("%v, %v", c, err)
		}
		if err != nil && (err.Error() == "" || len(err.Error()) > 20_000) {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		if c == nil {
			return
		}
		for _, keys := range []*Keys{c.AllowedLabels, c.AllowedTaints} {
			if keys.Has("node-restriction.kubernetes.io/x") && !bytes.Contains(data, []byte("node-restriction.kubernetes.io")) &&
				!bytes.Contains(data, []byte(`\`)) {
				t.Fatal("opens what it does not name")
			}
		}
		if row := c.MachineFor("n"); row != nil && row.Name == "" {
			t.Fatal("a row without a name")
		}
	})
}

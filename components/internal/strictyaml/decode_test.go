// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type inner struct {
	Name  string            `json:"name"`
	Wait  *metav1.Duration  `json:"wait"`
	Count int               `json:"count"`
	Modes map[string]string `json:"modes"`
}

type sample struct {
	Title string    `json:"title"`
	On    bool      `json:"on"`
	Part  inner     `json:"part"`
	List  []inner   `json:"list"`
	Free  yaml.Node `json:"free"`
}

func decode(text string) (sample, map[string]int, error) {
	var s sample
	root, err := Parse([]byte(text))
	if err != nil {
		return s, nil, err
	}
	lines, err := Decode(root, &s)
	return s, lines, err
}

func TestDecode(t *testing.T) {
	got, lines, err := decode("title: a\non: true\npart:\n  wait: 90s\n  count: -3\n  modes: {x: \"1\"}\n" +
		"list:\n- name: b\nfree:\n  any: [1]\n")
	if err != nil {
		t.Fatal(err)
	}
	if got.Free.Line != 10 || len(got.Free.Content) != 2 {
		t.Errorf("the free node is %+v", got.Free)
	}
	got.Free = yaml.Node{}
	want := sample{Title: "a", On: true, List: []inner{{Name: "b"}},
		Part: inner{Wait: &metav1.Duration{Duration: 90 * time.Second}, Count: -3, Modes: map[string]string{"x": "1"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for path, line := range map[string]int{"": 1, "part.wait": 4, "part.modes.x": 6, "list[0].name": 8} {
		if lines[path] != line {
			t.Errorf("%q is in line %d, want %d", path, lines[path], line)
		}
	}
}

// TestInvalidFileIsRejected has a valid file beside each invalid one. They differ in one place.
func TestInvalidFileIsRejected(t *testing.T) {
	for _, tc := range []struct{ name, good, bad, want string }{
		{"unknown field with a close name", "title: a", "titel: a", `line 1: unknown field "titel"; did you mean "title"?`},
		{"unknown field in another case", "title: a", "Title: a", `line 1: unknown field "Title"; did you mean "title"?`},
		{"unknown field in a part", "part: {count: 1}", "part: {weight: 1}",
			`line 1: unknown field "part.weight"; the fields are count, modes, name, wait`},
		{"duplicate field", "title: a\non: true", "title: a\ntitle: b", `line 2: duplicate field "title", first in line 1`},
		{"duplicate key of a map", "part: {modes: {a: b, c: d}}", "part: {modes: {a: b, a: d}}",
			`line 1: duplicate field "part.modes.a", first in line 1`},
		{"number for a string", `title: "1"`, "title: 1", "line 1: title must be a string; put it in quotes"},
		{"null for a string", `title: "null"`, "title: null", "line 1: title must be a string"},
		{"string for a boolean", "on: true", `on: "true"`, "line 1: on must be true or false"},
		{"fraction for an integer", "part: {count: 1}", "part: {count: 1.5}", "line 1: part.count must be an integer"},
		{"integer that is too large", "part: {count: 1}", "part: {count: 99999999999999999999}",
			"line 1: part.count must be an integer"},
		{"number for a duration", "part: {wait: 5s}", "part: {wait: 5}", "line 1: part.wait must be a string"},
		{"duration without a unit", "part: {wait: 5s}", `part: {wait: "5"}`, `line 1: part.wait is "5": `},
		{"object for a list", "list: [{name: a}]", "list: {name: a}", "line 1: list must be a list"},
		{"list for an object", "part: {}", "part: []", "line 1: part must be an object"},
		{"list for the file", "title: a", "[a]", "line 1: the file must be an object"},
		{"element with an unknown field", "list: [{name: a}]", "list: [{nam: a}]",
			`line 1: unknown field "list[0].nam"; did you mean "name"?`},
		{"merge", "part: {}", "part: {<<: {}}", `line 1: unknown field "part.<<"`},
		{"anchor", "title: a", "title: &x a", "line 1: anchors (&x) are not allowed"},
		{"tag", "title: a", "title: !!str a", "line 1: tags (!!str) are not allowed"},
		{"every problem is reported", "title: a\non: true", "title: 1\non: 1",
			"line 1: title must be a string; put it in quotes\nline 2: on must be true or false"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, _, err := decode(tc.good); err != nil {
				t.Errorf("the valid file: %v", err)
			}
			if _, _, err := decode(tc.bad); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"abc", "abc", 0}, {"abc", "acb", 2}, {"image", "imago", 1}, {"kitten", "sitting", 3}} {
		if got := distance(tc.a, tc.b); got != tc.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "title: a", "part: {wait: 5s, modes: {a: b}}",
		"list: [{name: a}]", "free: [*a]", "- "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, lines, err := decode(text)
		if err != nil && (err.Error() == "" || len(err.Error()) > 20_000) {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		if err == nil && lines[""] == 0 {
			t.Fatal("a valid file without a line")
		}
	})
}

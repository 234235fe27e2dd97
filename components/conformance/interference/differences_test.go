// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package interference_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// difference is a documented way in which a node can notice an unrelated object.
type difference struct {
	harness.Documented
	// is reports whether two answers, of which one is a denial by one of the rules, show it.
	is func(first, second string) bool
}

// differences are all that are documented.
var differences = []difference{
	{
		Documented: harness.Documented{
			Name: "unique", IDs: []rules.ID{"NR-SLICE-4", "NR-ADDRESS-2", "NR-NODESPEC-3", "NR-PODIP-2", "NR-CSR-2"},
			Row: "Only one node can use a pool",
		},
		is: func(first, second string) bool { return !otherNode.MatchString(first + second) },
	},
	{
		Documented: harness.Documented{
			Name: "pods by name", IDs: []rules.ID{"NR-SA-2", "NR-SA-3", "NR-PCR-3", "NR-POD-8"},
			Row: "answers with the texts and codes of in-tree NodeRestriction",
		},
		is: denyBoth,
	},
	{
		Documented: harness.Documented{Name: readAgain, Row: "reads the object again"},
		is:         func(string, string) bool { return false }, // only while watches lag: isReadAgain
	},
}

const readAgain = "read again"

// isReadAgain matches if the answers are equal, and one of them needed live reads where the other needed
// none, or one more at the end.
func isReadAgain(first, second string) bool {
	answer, calls := answerAndCalls(first)
	same, others := answerAndCalls(second)
	if len(calls) < len(others) {
		calls, others = others, calls
	}
	more := len(calls) - len(others)
	return answer == same && more > 0 && (len(others) == 0 || more == 1 && slices.Equal(calls[:len(others)], others))
}

var aCall = regexp.MustCompile(`[A-Z]+ \S+`)

// answerAndCalls splits the text of an answer. Each call is a method and a path.
func answerAndCalls(text string) (answer string, calls []string) {
	answer, rest, _ := strings.Cut(text, " calls=[")
	list, _, _ := strings.Cut(rest, "]")
	return answer, aCall.FindAllString(list, -1)
}

func TestReadAgain(t *testing.T) {
	const none, list, more = "deny calls=[] reads=[]", "deny calls=[GET /pods] reads=[]",
		"deny calls=[GET /pods GET /secrets/a] reads=[]"
	for _, tc := range []struct {
		name, first, second string
		want                bool
	}{
		{"no call and two", none, more, true},
		{"one call and one more", more, list, true},
		{"the same calls", list, list, false},
		{"another call", list, "deny calls=[GET /nodes] reads=[]", false},
		{"one more, but not at the end", "deny calls=[GET /secrets/a GET /pods] reads=[]", list, false},
		{"another answer", strings.Replace(more, "deny", "allow", 1), list, false},
	} {
		if got := isReadAgain(tc.first, tc.second); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// otherNode matches a text that names the owner.
var otherNode = regexp.MustCompile(`node \\*"n[23]`)

func denyBoth(first, second string) bool {
	return strings.HasPrefix(first, "deny:") && strings.HasPrefix(second, "deny:")
}

// knownAs returns the name of the documented difference that two answers show, or "".
func knownAs(first, second string) string {
	for _, d := range differences {
		denies := func(answer string) bool {
			return slices.ContainsFunc(d.IDs, func(id rules.ID) bool { return strings.Contains(answer, "["+string(id)+"]") })
		}
		if (denies(first) || denies(second)) && d.is(first, second) {
			return d.Name
		}
	}
	return ""
}

func TestDifferencesAreDocumented(t *testing.T) {
	var all []harness.Documented
	for _, d := range differences {
		all = append(all, d.Documented)
	}
	harness.CheckPage(t, "threat-model.md", "What a node can notice of other nodes", all)
}

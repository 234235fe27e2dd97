// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeisolationreport

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func valid() *NodeIsolationReport {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r := &NodeIsolationReport{
		APIVersion: APIVersion, Kind: Kind,
		Metadata: Metadata{Started: at, Finished: at, Profile: "off", BulkheadVersion: "1.10", KubernetesVersion: "v1.37.1",
			Nodes: 2, Platform: "linux"},
		Rules: []Rule{
			{ID: "NA-A-1", Profile: "NodeAuthorizer", Description: "Keeps A.", Source: "a.go", Result: Held,
				Evidence: []Evidence{{Suite: "s", Spec: "is denied: \"x\"\n\t# no comment", Outcome: Denied, Expected: "denied",
					Duration: metav1.Duration{Duration: 12 * time.Millisecond}}}},
			{ID: "NA-B-1", Profile: "NodeAuthorizer", Result: NotHeld, Reason: "1 of 2 specs failed.", Extension: true},
		},
		Attacks: []Attack{{ID: "T7", Suite: "attacks", Name: "mirror pods", Rules: []string{}, Verdict: Stopped,
			Steps: []Evidence{}}},
		Runs: []Run{{Suite: "s", Started: at, Nodes: 2, Passed: 1}},
	}
	r.Summary = Summary{Verdict: "true", Rules: Count(r.Rules, ""), Attacks: CountAttacks(r.Attacks)}
	r.Profiles = []Profile{{Name: "NodeAuthorizer", Verdict: "yes", Rules: Count(r.Rules, "NodeAuthorizer")}}
	return r
}

func TestReportReadsAsItIsWritten(t *testing.T) {
	text, err := valid().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	// A time that is read is in the local zone.
	got.Metadata.Started.Time, got.Metadata.Finished.Time = got.Metadata.Started.UTC(), got.Metadata.Finished.UTC()
	got.Runs[0].Started.Time = got.Runs[0].Started.UTC()
	if diff := cmp.Diff(valid(), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParseIsStrict(t *testing.T) {
	text, err := valid().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, old, new, want string }{
		{"nothing changed", "", "", ""},
		{"unknown field", "  nodes: 2\n", "  nodes: 2\n  node: 2\n", `unknown field "metadata.node"`},
		{"unknown result", "result: held", "result: holds", "rules[0].result: Unsupported value"},
		{"unknown outcome", "outcome: denied", "outcome: fine", "rules[0].evidence[0].outcome: Unsupported value"},
		{"unknown verdict", "verdict: stopped", "verdict: won", "attacks[0].verdict: Unsupported value"},
		{"count that differs", "    held: 1\n", "    held: 2\n", "summary.rules: Invalid value"},
		{"rule twice", "id: NA-B-1", "id: NA-A-1", "rules[1].id: Duplicate value"},
		{"ID that a link cannot name", "id: NA-B-1", "id: '\"><script>'", "rules[1].id: Invalid value"},
		{"profile that is not there", "profile: NodeAuthorizer", "profile: Other", "is not among the profiles"},
		{"no reason", "    reason: 1 of 2 specs failed.\n", "", "rules[1].reason: Required value"},
		{"another version", "v1alpha1", "v1", "supports only bulkhead.dev/v1alpha1"},
		{"text for a number", "nodes: 2", "nodes: two", "metadata.nodes must be an integer"},
		{"no time", `started: "2026-01-02T03:04:05Z"`, "started: yesterday", "metadata.started is"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse([]byte(strings.Replace(string(text), tc.old, tc.new, 1)))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestHostileFiles(t *testing.T) {
	text, err := valid().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"empty": "", "null": "null", "a list": "[]", "binary": "\x00\xff", "truncated": string(text[:len(text)/2]),
		"too large":     string(text) + "#" + strings.Repeat("x", MaxBytes),
		"two documents": string(text) + "---\n" + string(text),
		"alias":         "apiVersion: &a bulkhead.dev/v1alpha1\nkind: *a\n",
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := Parse([]byte(file)); err == nil || r != nil {
				t.Errorf("got %v, %v", r, err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	text, err := valid().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("apiVersion: bulkhead.dev/v1alpha1\nkind: NodeIsolationReport\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		if _, err := r.Marshal(); err != nil {
			t.Errorf("a valid report cannot be written: %v", err)
		}
	})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"reflect"
	"strings"
	"testing"
)

func testEntry() Host {
	return Host{Version: "v0.2.0", Profile: "hardened", Mode: Enforce, Image: "example.test/bulkhead:1", ConfigHash: "c",
		Modes: "enforce", Wiring: "w", VerifyKubelets: true}
}

func TestParseReturnsWhatEncodeWrote(t *testing.T) {
	want := testEntry()
	text, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	known, unknown := Parse(map[string]string{"cp-1": text})
	if len(unknown) != 0 || !reflect.DeepEqual(known["cp-1"], want) {
		t.Errorf("got %v and %v, want %v", known, unknown, want)
	}
}

func TestParse(t *testing.T) {
	good, err := testEntry().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, value, problem string }{
		{"complete entry", good, ""},
		{"field of a newer version: ignored", strings.Replace(good, "{", `{"later":{"a":[1]},`, 1), ""},
		{"empty value", "", "unexpected end"},
		{"half an entry", good[:len(good)/2], "unexpected end"},
		{"text after the entry", good + "}", "after top-level value"},
		{"list", "[]", "cannot unmarshal array"},
		{"null", "null", "version is absent"},
		{"field with another type", strings.Replace(good, `"v0.2.0"`, "2", 1), "cannot unmarshal number"},
		{"field with another case", strings.Replace(good, `"version"`, `"Version"`, 1), "version is absent"},
		{"time of the commit", strings.Replace(good, `"mode"`, `"committed":"2026-11-29T00:00:00Z","mode"`, 1), ""},
		{"no time", strings.Replace(good, `"mode"`, `"committed":"\u001b[2J","mode"`, 1), "committed is"},
		{"no wiring", strings.Replace(good, `"wiring":"w"`, `"wiring":""`, 1), "wiring is absent"},
		{"unknown mode", strings.Replace(good, `"mode":"enforce"`, `"mode":"off"`, 1), `mode is "off"`},
		{"escape sequence of a terminal", strings.Replace(good, `"hardened"`, `"\u001b[2J"`, 1), "cannot be printed"},
		{"escape sequence in an audit setting",
			strings.Replace(good, "{", `{"auditSince":{"\u001b":"2026-03-01T12:00:00Z"},`, 1),
			"auditSince has characters"},
		{"escape sequence in a path", strings.Replace(good, "{", `{"admissionConfig":"/\u001b[2J",`, 1),
			"admissionConfig has characters"},
		{"path", strings.Replace(good, "{", `{"admissionConfig":"/a/b.yaml",`, 1), ""},
		{"relative path", strings.Replace(good, "{", `{"admissionConfig":"a/b.yaml",`, 1), "want an absolute path"},
		{"path that is not clean", strings.Replace(good, "{", `{"admissionConfig":"/a/../b.yaml",`, 1),
			"want an absolute path"},
		{"audit setting",
			strings.Replace(good, "{", `{"auditFor":"1h","auditSince":{"--mode=audit":"2026-03-01T12:00:00Z"},`, 1),
			""},
		{"too large", strings.Replace(good, `"w"`, `"`+strings.Repeat("w", maxEntry)+`"`, 1), "at most 16384"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			known, unknown := Parse(map[string]string{"cp-1": tc.value, "cp-2": good})
			if _, ok := known["cp-2"]; !ok || unknown["cp-2"] != nil {
				t.Errorf("the entry of the other host is lost: %v", unknown["cp-2"])
			}
			_, ok := known["cp-1"]
			err := unknown["cp-1"]
			if ok != (tc.problem == "") || (err == nil) != ok {
				t.Fatalf("known: %v, error: %v", ok, err)
			}
			if err != nil && (!strings.Contains(err.Error(), tc.problem) || !strings.Contains(err.Error(), "cp-1")) {
				t.Errorf("error is %v, want one that mentions cp-1 and %q", err, tc.problem)
			}
		})
	}
}

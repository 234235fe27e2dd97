// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpecFile(t *testing.T) {
	for _, tc := range []struct {
		name      string
		args      []string
		file      string
		isProcess bool
	}{
		{"create names its bundle", []string{"--root", "/r", "create", "--bundle", "/b", "id"}, "/b/config.json", false},
		{"create takes the equals form", []string{"create", "--bundle=/b", "id"}, "/b/config.json", false},
		{"run without a bundle is the working directory", []string{"run", "id"}, "config.json", false},
		{"exec names its process file", []string{"exec", "--process", "/p.json", "id"}, "/p.json", true},
		{"exec without a process file: nothing to rewrite", []string{"exec", "id", "sh"}, "", true},
		{"other command: nothing to rewrite", []string{"delete", "id"}, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file, isProcess := specFile(tc.args)
			if file != tc.file || isProcess != tc.isProcess {
				t.Errorf("specFile(%q) = %q, %v; want %q, %v", tc.args, file, isProcess, tc.file, tc.isProcess)
			}
		})
	}
}

func TestRelaxSpec(t *testing.T) {
	const process = `{"args":["sh"],"rlimits":[{}],"oomScoreAdj":-999,` +
		`"capabilities":{"bounding":["CAP_SYS_RESOURCE","CAP_KILL"],"effective":["CAP_KILL"]}}`
	want := map[string]any{
		"args":         []any{"sh"},
		"capabilities": map[string]any{"bounding": []any{"CAP_KILL"}, "effective": []any{"CAP_KILL"}},
	}
	for _, tc := range []struct {
		name, in  string
		isProcess bool
		want      map[string]any
	}{
		{"a process file", process, true, want},
		{"a bundle's config", `{"hostname":"n","process":` + process + `}`, false,
			map[string]any{"hostname": "n", "process": want}},
		{"a config without a process", `{"hostname":"n"}`, false, map[string]any{"hostname": "n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := relax([]byte(tc.in), tc.isProcess)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if out, err := relax([]byte(`{"limit":9223372036854771712}`), true); err != nil ||
		string(out) != `{"limit":9223372036854771712}` {
		t.Errorf("a 64-bit integer was rounded: %s, %v", out, err)
	}
	if _, err := relax([]byte("{"), false); err == nil {
		t.Error("half a document was accepted")
	}
}

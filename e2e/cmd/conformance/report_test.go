// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/fixture"
)

// reportOf writes a report from invented results of a profile, and returns its directory.
func reportOf(t *testing.T, profile string) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	for _, one := range fixture.Results(profile) {
		if err := one.Write(filepath.Join(dir, one.Suite+isolationreport.ResultsSuffix)); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err = writeReport(t.Context(), &out, options{output: dir}, filepath.Join(dir, "no-kubeconfig"))
	if !strings.Contains(out.String(), "report.html") || !strings.Contains(out.String(), "NodeRestriction") {
		t.Errorf("output %q, %v", out.String(), err)
	}
	return dir, err
}

func TestWriteReport(t *testing.T) {
	dir, err := reportOf(t, inTree)
	if !errors.Is(err, errNotHeld) {
		t.Errorf("rules that do not hold: %v", err)
	}
	for _, name := range []string{"report.html", "report.junit.xml"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if report, err := api.Parse(text); err != nil || report.Metadata.Profile != "any" {
		t.Errorf("profile of a cluster that does not answer: %+v, %v", report.Metadata, err)
	}
}

func TestProfileOf(t *testing.T) {
	entry := func(profile string) string {
		text, err := hosts.Host{Version: "v0.1.0", Profile: profile, Mode: hosts.Enforce, Image: "i", ConfigHash: "h",
			Modes: "m", Wiring: "w"}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for name, tt := range map[string]struct {
		entries map[string]string
		want    string
	}{
		"no host":            {nil, inTree},
		"one profile":        {map[string]string{"a": entry("hardened"), "b": entry("hardened")}, "hardened"},
		"two profiles":       {map[string]string{"a": entry("hardened"), "b": entry("parity")}, "any"},
		"entry cannot parse": {map[string]string{"a": entry("hardened"), "b": "{"}, "any"},
	} {
		if got := profileOf(tt.entries); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

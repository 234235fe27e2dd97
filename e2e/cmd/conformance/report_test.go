// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/fixture"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
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
	err = writeReport(t.Context(), &out, options{Output: dir}, filepath.Join(dir, "no-kubeconfig"))
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

// TestExitCode: the exit code is 2 for a rule that does not hold and for an attack that succeeded. It is 0 if
// specs only met a time limit.
func TestExitCode(t *testing.T) {
	spec := func(state isolationreport.State, attack string, allowed bool) isolationreport.Spec {
		return isolationreport.Spec{Text: "denied", Rules: []rules.ID{"NA-SECRET-1"}, By: "NA-SECRET-1", Attack: attack,
			Want: isolationreport.Deny, Expected: isolationreport.Deny, State: state,
			Answers: []isolationreport.Answer{{Allowed: allowed}}}
	}
	for name, tt := range map[string]struct {
		spec isolationreport.Spec
		want error
	}{
		"denied: no error":              {spec(isolationreport.Passed, "", false), nil},
		"time limit: no error":          {spec(isolationreport.TimedOut, "", false), nil},
		"allowed at the limit: error":   {spec(isolationreport.TimedOut, "", true), errNotHeld},
		"failed: error":                 {spec(isolationreport.Failed, "", false), errNotHeld},
		"attack that succeeded: error":  {spec(isolationreport.Failed, "T3", true), errNotHeld},
		"attack at the limit: no error": {spec(isolationreport.TimedOut, "T3", false), nil},
		"unclear and failed: error":     {spec(isolationreport.Failed, "T3", false), errNotHeld},
	} {
		dir := t.TempDir()
		one := isolationreport.NewResults("nodeauthorizer", "any", time.Now(), time.Minute)
		one.Specs = []isolationreport.Spec{tt.spec}
		if err := one.Write(filepath.Join(dir, one.Suite+isolationreport.ResultsSuffix)); err != nil {
			t.Fatal(err)
		}
		err := writeReport(t.Context(), io.Discard, options{Output: dir}, filepath.Join(dir, "no-kubeconfig"))
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
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

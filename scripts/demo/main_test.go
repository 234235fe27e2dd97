// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/kind/refcluster"
)

func TestExitCodes(t *testing.T) {
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, tc := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"as expected", t.Context(), nil, 0},
		{"not as expected", t.Context(), errors.New("step 1"), 1},
		{"interrupted", interrupted, context.Canceled, 130},
		{"interrupted, and the profile is not back", interrupted, errors.New("not back"), 130},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := report(tc.ctx, tc.err); got != tc.want {
				t.Errorf("exit code %d, want %d", got, tc.want)
			}
		})
	}
}

func TestInvalidFlags(t *testing.T) {
	for _, args := range [][]string{{"--pace=-1"}, {"--pace=NaN"}, {"--pace=x"}, {"more"}, {"--unknown"}} {
		cmd := newCommand()
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestSettingsThatMakeUpWouldLose(t *testing.T) {
	const usual = "apiVersion: bulkhead.dev/v1alpha1\nkind: Installation\nprofile: hardened\nimage: a:b\n" +
		"certificates:\n  validity: 2160h0m0s\nkubeletAPI:\n  enabled: true\nnodeScope:\n  enabled: true\n"
	if got, err := parseInstalled(usual); err != nil || got != fullHardened {
		t.Errorf("%+v, %v", got, err)
	}
	for _, more := range []string{"mode: audit\n", "rules:\n  modes: {}\n", "nodePolicy: {}\n", "profile: [\n"} {
		_, err := parseInstalled(usual + more)
		if err == nil || !strings.Contains(err.Error(), "cannot switch the profile") {
			t.Errorf("%s: err = %v", more, err)
		}
	}
}

func TestLinesOfMakeUpWithAPathAreNotShown(t *testing.T) {
	var shown []string
	all := follow(strings.NewReader("  … installing\n    installing: 15s so far\n  ✓ installing (25s)\n"+
		"    using an engine at unix:///run/x.sock\nkubeconfig: /some/where\nThe cluster is up, profile x.\n"),
		func(line string) { shown = append(shown, line) })
	want := []string{"    installing: 15s so far", "  ✓ installing (25s)", "The cluster is up, profile x."}
	if !slices.Equal(shown, want) || len(all) != 6 {
		t.Errorf("%q of %q", shown, all)
	}
}

func TestCreatedFrom(t *testing.T) {
	all := strings.Join(refcluster.AllHardening(), " ")
	for _, tc := range []struct{ name, marker, image, off string }{
		{"all settings", "node:a " + all + "\n", "node:a", ""},
		{"one setting is off", "node:a " + strings.Replace(all, "encryption ", "", 1), "node:a", "encryption"},
		{"no setting", "node:a", "node:a", strings.ReplaceAll(all, " ", ",")},
		{"empty", "\n", "", ""},
	} {
		if image, off := createdFrom(tc.marker); image != tc.image || off != tc.off {
			t.Errorf("%s: image %q, off %q, want %q, %q", tc.name, image, off, tc.image, tc.off)
		}
	}
}

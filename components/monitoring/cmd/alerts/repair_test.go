// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// The repairs of all breaks are called although some fail. The waits for readiness come last.
func TestRepairContinuesAfterAnError(t *testing.T) {
	var calls []string
	call := func(name string, err error) step {
		return func(context.Context) error {
			calls = append(calls, name)
			return err
		}
	}
	p := phases{
		{{{causes: one("A"), repair: call("repair A", errors.New("a1")), restore: call("restore A", errors.New("a2")),
			ready: call("ready A", errors.New("a3"))}}},
		{{{causes: one("B")}}, {{causes: one("C"), repair: call("repair C", nil), ready: call("ready C", nil)}}},
	}
	err := p.repair(t.Context(), io.Discard)
	want := []string{"repair A", "restore A", "repair C", "ready A", "ready C"}
	if !slices.Equal(calls, want) {
		t.Errorf("called %q, want %q", calls, want)
	}
	for _, cause := range []string{"a1", "a2", "a3"} {
		if err == nil || !strings.Contains(err.Error(), "cannot repair after A: "+cause) {
			t.Errorf("the error does not contain %s: %v", cause, err)
		}
	}
}

func TestEveryContinuesAfterAnError(t *testing.T) {
	called, failure := 0, errors.New("x")
	fail := func(context.Context) error {
		called++
		return failure
	}
	if err := every(fail, fail)(t.Context()); !errors.Is(err, failure) || called != 2 {
		t.Errorf("error %v after %d calls, want 2", err, called)
	}
}

// If the pod cannot be replaced, the next repair tries again. The third repair does nothing.
func TestRestoreAndReplaceTriesAgain(t *testing.T) {
	dir := t.TempDir()
	asidePrefix = filepath.Join(dir, "aside")
	folder := filepath.Join(dir, "folder")
	sh(t, "mkdir "+folder+"; echo old >"+folder+"/a\n"+removed(folder))
	run := func(_ context.Context, script string) (string, error) { return sh(t, script), nil }
	replaced := 0
	for _, failure := range []error{errors.New("not ready"), nil, nil} {
		err := restoreAndReplace(t.Context(), run, func(context.Context) error {
			replaced++
			return failure
		}, folder)
		if !errors.Is(err, failure) || sh(t, "cat "+folder+"/a") != "old" {
			t.Errorf("error %v, want %v", err, failure)
		}
	}
	if left := sh(t, "ls "+dir); replaced != 2 || left != "folder" {
		t.Errorf("replaced %d times, want 2; the directory has %q", replaced, left)
	}
}

func TestStreamsChanged(t *testing.T) {
	for _, tc := range []struct {
		name     string
		strategy appsv1.DaemonSetUpdateStrategyType
		command  []string
		want     bool
	}{
		{"flag and OnDelete", appsv1.OnDeleteDaemonSetStrategyType, []string{"/proxy", fewStreams}, true},
		{"only OnDelete", appsv1.OnDeleteDaemonSetStrategyType, []string{"/proxy"}, true},
		{"only flag", appsv1.RollingUpdateDaemonSetStrategyType, []string{"/proxy", fewStreams}, true},
		{"neither", appsv1.RollingUpdateDaemonSetStrategyType, []string{"/proxy"}, false},
	} {
		spec := appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: tc.strategy}}
		spec.Template.Spec.Containers = []corev1.Container{{Command: tc.command}}
		if got := streamsChanged(&spec); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestFailureOfAPanicOutsideOfItsBreak(t *testing.T) {
	for name, fails := range map[string]bool{"BulkheadPanic": true, "BulkheadDecisionsSlow": false} {
		r := &result{others: []*firing{{name: name}}}
		if err := r.failure(); (err != nil) != fails {
			t.Errorf("%s fired: error %v", name, err)
		}
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
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

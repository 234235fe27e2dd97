// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errBroken = errors.New("it is broken")

// testJob returns a job with one step that has this result.
func testJob(passed int, ends error) func(ctx context.Context, j *job) error {
	return func(ctx context.Context, j *job) error {
		return j.step(ctx, "a step", func(r *result) error {
			r.passed = passed
			return ends
		})
	}
}

func TestTheLastLineIsTheCount(t *testing.T) {
	for _, tc := range []struct {
		name   string
		do     func(ctx context.Context, j *job) error
		end    string
		passes bool
	}{
		{"passed", testJob(2, nil), "  in all\n\n2 passed, 0 failed, 0 skipped\n", true},
		{"a step that could not be completed fails", testJob(2, errBroken),
			"\nFAILED a step\nit is broken\n\n2 passed, 1 failed, 0 skipped\n", false},
		{"an error outside of a step fails", func(context.Context, *job) error { return errBroken },
			"\nFAILED the run\nit is broken\n\n0 passed, 1 failed, 0 skipped\n", false},
		{"a run without tests fails", testJob(0, nil), "\n\n0 passed, 0 failed, 0 skipped\n", false},
		{"a failed job does not stop the others", func(ctx context.Context, j *job) error {
			return j.parallel(ctx, &job{name: "one", do: testJob(0, errBroken)}, &job{name: "two", do: testJob(3, nil)})
		}, "\nFAILED one: a step\nit is broken\n\n3 passed, 1 failed, 0 skipped\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var out strings.Builder
			if err := run(t.Context(), &out, tc.do); (err == nil) != tc.passes {
				t.Errorf("err = %v", err)
			}
			if !strings.HasSuffix(out.String(), tc.end) {
				t.Errorf("the output does not end with %q:\n%s", tc.end, &out)
			}
		})
	}
}

func TestAnInterruptedRunFails(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	cleaned := false
	err := run(ctx, new(strings.Builder), func(ctx context.Context, j *job) error {
		_ = testJob(1, nil)(ctx, j)
		interrupt()
		if testJob(1, nil)(ctx, j) == nil {
			t.Error("a step started after the interrupt")
		}
		return j.step(context.WithoutCancel(ctx), "cleanup", func(*result) error { cleaned = true; return nil })
	})
	if err == nil || !cleaned {
		t.Errorf("err = %v, cleaned = %t", err, cleaned)
	}
}

func TestHeavyJobsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var started []string
		hour := func(_ context.Context, j *job) error {
			started = append(started, j.name+" "+time.Since(j.results.started).String())
			if j.name == "unblocks" {
				time.Sleep(time.Minute)
				j.unblock()
			}
			time.Sleep(time.Hour)
			return nil
		}
		all := &job{results: &results{started: time.Now()}, out: new(strings.Builder)}
		_ = all.parallel(t.Context(), &job{name: "unblocks", heavy: true, do: hour},
			&job{name: "ends", heavy: true, do: hour}, &job{name: "last", heavy: true, do: hour})
		if diff := cmp.Diff([]string{"unblocks 0s", "ends 1m0s", "last 1h1m0s"}, started); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEverySuiteRunsOnce(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	j := &job{root: root}
	all, _ := j.findSuites(true)
	other, err := j.findSuites(false)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(slices.Values(slices.Concat(other, special)))
	if diff := cmp.Diff(all, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoPartStartsAfterTheLimit(t *testing.T) {
	for _, tc := range []struct {
		name  string
		limit time.Duration
		end   string
	}{
		{"the limit has passed", time.Minute, "\n\n1 passed, 0 failed, 1 skipped\n"},
		{"the limit has not passed", time.Hour, "\n\n2 passed, 0 failed, 0 skipped\n"},
		{"no limit", 0, "\n\n2 passed, 0 failed, 0 skipped\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				j := &job{out: &out, results: &results{started: time.Now(), limit: tc.limit}}
				pass := func(r *result) error {
					r.passed++
					return nil
				}
				err := j.part(t.Context(), "early", pass)
				time.Sleep(2 * time.Minute)
				err = errors.Join(err, j.part(t.Context(), "late", pass), j.results.summarize(&out, nil))
				if err != nil || !strings.HasSuffix(out.String(), tc.end) {
					t.Errorf("err = %v; the output does not end with %q:\n%s", err, tc.end, &out)
				}
			})
		})
	}
}

// TestLimitAppliesToPartsTogether: parts that are long do not make the next ones of their group be left out.
func TestLimitAppliesToPartsTogether(t *testing.T) {
	for _, tc := range []struct {
		name          string
		begin         time.Duration
		want, skipped []string
	}{
		{"the first one starts before the limit", 50 * time.Minute, []string{"nested", "root"}, nil},
		{"the limit has passed", 61 * time.Minute, nil, []string{"nested", "root"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				var ran []string
				j := &job{out: &out, results: &results{started: time.Now(), limit: time.Hour}}
				long := func(name string) part {
					return part{name, func(r *result) error {
						time.Sleep(20 * time.Minute)
						ran, r.passed = append(ran, name), 1
						return errBroken
					}}
				}
				time.Sleep(tc.begin)
				err := j.parts(t.Context(), long("nested"), long("root"))
				if !slices.Equal(ran, tc.want) || (err != nil) != (len(tc.want) > 0) {
					t.Errorf("ran %q, err = %v", ran, err)
				}
				for _, name := range tc.skipped {
					if !strings.Contains(out.String(), name+": skipped: no part starts after 1h0m0s") {
						t.Errorf("the output does not name the part %s:\n%s", name, &out)
					}
				}
			})
		})
	}
}

func TestTemporaryFilesCanRun(t *testing.T) {
	directory, remove, err := temporary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(directory, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), program).Run(); err != nil {
		t.Error(err)
	}
	remove()
	if _, err := os.Stat(directory); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", directory, err)
	}
}

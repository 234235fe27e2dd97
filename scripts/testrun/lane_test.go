// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLanesHaveWholeLines(t *testing.T) {
	var (
		out strings.Builder
		mu  sync.Mutex
		all sync.WaitGroup
	)
	for _, name := range []string{"one", "two", "three"} {
		w := &lines{mu: &mu, to: &out, head: name + " | "}
		all.Go(func() {
			for i := range 100 {
				fmt.Fprintf(w, "begun by %s, ", name)
				fmt.Fprintf(w, "ended by %s: %d\nnext line: ", name, i)
			}
		})
	}
	all.Wait()
	got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(got) != 300 {
		t.Errorf("%d lines", len(got))
	}
	for _, line := range got {
		name, text, _ := strings.Cut(line, " | ")
		if text = strings.TrimPrefix(text, "next line: "); !strings.HasPrefix(text, "begun by "+name+", ended by "+name+": ") {
			t.Errorf("torn: %q", line)
		}
	}
}

func TestAPersonSeesWhatLanesDo(t *testing.T) {
	s := newStand(t)
	synctest.Test(t, func(t *testing.T) {
		wait := func(d time.Duration) stage {
			return func(_ context.Context, l *lane) error {
				return l.timed("a long step", func() (count, error) {
					fmt.Fprint(l.out, "a suite •••")
					time.Sleep(d)
					fmt.Fprintln(l.out, "• passed")
					return count{passed: 2}, nil
				})
			}
		}
		s.beside(t.Context(), part{name: "short", do: wait(30 * time.Second)}, part{name: "long", do: wait(90 * time.Second)})
	})
	for _, want := range []string{
		"short    | === a long step\n", "short    |     a long step: 2 passed, 0 failed, 0 skipped in 30s\n", "short    | === ended after 30s\n",
		"long     |     a long step: 1m0s so far: a suite •••\n", "long     | a suite •••• passed\n", "long     | === ended after 1m30s\n",
	} {
		if !strings.Contains(s.said.String(), want) {
			t.Errorf("%q is not in:\n%s", want, s.said.String())
		}
	}
}

// Who reads a log from its end finds what a step that failed has said at last.
func TestTheEndOfAFailedStepIsTold(t *testing.T) {
	for _, tc := range []struct {
		name  string
		count count
		err   error
		want  string
	}{
		{"a test that fails", count{passed: 3, failed: 2}, nil, "\nFAILED a step\nthe last words\n\n3 passed, 2 failed, 0 skipped\n"},
		{"a step that could not be carried out", count{}, errBroken, "\nFAILED a step\nthe last words\nerror: it is broken\n\n0 passed, 1 failed, 0 skipped\n"},
		{"what passes has nothing to say", count{passed: 1}, nil, "  in all\n\n1 passed, 0 failed, 0 skipped\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newStand(t)
			_ = s.stages(t.Context(), func(_ context.Context, l *lane) error {
				return l.timed("a step", func() (count, error) {
					fmt.Fprint(l.out, "long ago\n", strings.Repeat(" ", maxFailureText), "the last ", "words\n")
					return tc.count, tc.err
				})
			})
			if !strings.HasSuffix(s.said.String(), tc.want) {
				t.Errorf("it does not end with %q:\n%s", tc.want, &s.said)
			}
		})
	}
}

func TestEverySuiteBelongsToACallOfGinkgo(t *testing.T) {
	suites, err := newRun("../..").findSuites()
	if err != nil {
		t.Fatal(err)
	}
	calls := slices.Concat(busyRuns, waitingRuns, []ginkgoRun{certificatesRun})
	for _, suite := range suites {
		labels := map[string]int{}
		for _, g := range calls {
			if slices.Contains(g.of(suites), suite) {
				labels[g.label]++
			}
		}
		// All of it once, or both halves once.
		if labels[""]+labels["!disruptive"] != 1 || labels["disruptive"] != labels["!disruptive"] {
			t.Errorf("%s is in the calls with these labels: %v", suite, labels)
		}
	}
	if got := (ginkgoRun{}).of(suites); !slices.Equal(got, suites) {
		t.Errorf("a call that names none is about %q", got)
	}
}

// A shell does not hand an interruption on, and waits for the end of what it has started.
func TestAnInterruptionReachesWhatAProgramHasStarted(t *testing.T) {
	const patience = 30 * time.Second
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	cmd := interruptible(exec.CommandContext(ctx, "sh", "-c", "cat; echo ended in peace"))
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(patience, func() { _ = input.Close() }).Stop()
	// What it repeats is a sign that it is there.
	cmd.Stdout = echo(interrupt)
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(input, "are you there?")
	if err := cmd.Wait(); err == nil {
		t.Error("it was not interrupted")
	}
	if took := time.Since(begun); took >= patience {
		t.Errorf("it went on for %s", took)
	}
}

// echo is called with what a program says.
type echo func()

func (e echo) Write(p []byte) (int, error) {
	e()
	return len(p), nil
}

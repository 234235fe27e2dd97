// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// newTour returns a tour on a fake cluster, without pauses, and what it prints.
func newTour(ctx context.Context, f *fakeCluster, record io.Writer) (*tour, *strings.Builder) {
	var printed strings.Builder
	s := &screen{ctx: ctx, out: &printed}
	if record != nil {
		s.out = io.MultiWriter(&printed, record)
	}
	p := player{screen: s, runner: f, steps: story(), retryTimeout: 5 * time.Second, interval: time.Millisecond,
		got: map[string][]outcome{}}
	return &tour{player: p, cluster: f}, &printed
}

func (f *fakeCluster) switches() []string {
	return slices.DeleteFunc(slices.Clone(f.calls), func(c string) bool { return !strings.HasPrefix(c, "switch ") })
}

const (
	toInTree   = "switch in-tree false false"
	toHardened = "switch hardened true true"
)

func TestTourPutsTheProfileBack(t *testing.T) {
	for _, tc := range []struct {
		name string
		is   settings
		want []string
	}{
		{"hardened", fullHardened, []string{toInTree, toHardened}},
		{"in-tree", settings{profile: inTree}, []string{toHardened, toInTree}},
		{"parity", settings{profile: "parity"}, []string{toInTree, toHardened, "switch parity false false"}},
		{"hardened without the kubelet's API", settings{profile: hardened, nodeScope: true},
			[]string{toInTree, toHardened, "switch hardened false true"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fakeCluster{is: tc.is}
			tour, printed := newTour(t.Context(), f, nil)
			if err := tour.run(t.Context()); err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			if got := f.switches(); !slices.Equal(got, tc.want) {
				t.Errorf("switches %q, want %q", got, tc.want)
			}
			if f.is != tc.is {
				t.Errorf("the cluster has %+v", f.is)
			}
			expectClean(t, f)
		})
	}
}

// expectClean expects that, after the last step, the demo has removed what it made.
func expectClean(t *testing.T, f *fakeCluster) {
	t.Helper()
	last := f.done[max(0, slices.IndexFunc(f.done, isRemoval)):]
	for _, call := range []string{
		"bulkhead-control-plane: kubectl delete namespaces,clusterroles,clusterrolebindings -l bulkhead.dev/demo " +
			"--ignore-not-found --timeout=3m",
		"bulkhead-worker: rm -rf /tmp/bulkhead-demo",
		"bulkhead-control-plane: rm -rf /tmp/bulkhead-demo",
	} {
		if !slices.Contains(last, call) {
			t.Errorf("not called: %s; the last calls: %q", call, last)
		}
	}
	for _, call := range []string{
		"bulkhead-control-plane: kubectl uncordon bulkhead-worker",
		"bulkhead-worker: rm -f /etc/kubernetes/manifests/payments.yaml",
	} {
		if !slices.Contains(f.done, call) {
			t.Errorf("not called: %s", call)
		}
	}
}

func isRemoval(call string) bool { return strings.Contains(call, "kubectl delete namespaces") }

func TestTourEndsClean(t *testing.T) {
	for _, tc := range []struct {
		name, at string
		// on is the profile in which the call is met.
		on   string
		want []string
	}{
		{"interrupted in act 1", "kubectl cordon", inTree, []string{toInTree, toHardened}},
		{"interrupted in act 2", "kubectl cordon", hardened, []string{toInTree, toHardened}},
		{"interrupted in the first switch", toInTree, hardened, []string{toInTree, toHardened}},
		{"interrupted in the second switch", toHardened, inTree, []string{toInTree, toHardened, toHardened}},
		{"interrupted in the set-up", "kubectl create -f", hardened, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			f := &fakeCluster{is: fullHardened}
			f.before = func(call string) error {
				// A second call is that of the cleanup.
				if strings.Contains(call, tc.at) && f.is.profile == tc.on && ctx.Err() == nil {
					interrupt()
				}
				return nil
			}
			tour, printed := newTour(ctx, f, nil)
			if err := tour.run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("err = %v\n%s", err, printed)
			}
			if got := f.switches(); !slices.Equal(got, tc.want) {
				t.Errorf("switches %q, want %q", got, tc.want)
			}
			expectClean(t, f)
			if f.is != fullHardened {
				t.Errorf("the cluster has %+v", f.is)
			}
			if !strings.Contains(printed.String(), "Interrupted.") {
				t.Error(printed)
			}
		})
	}
}

func TestInterruptInAPauseShowsNoMoreCommands(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	f := &fakeCluster{is: fullHardened}
	tour, printed := newTour(ctx, f, nil)
	tour.screen.pace, tour.screen.paused = 1e-6, func(time.Duration) { interrupt() }
	if _, err := tour.play(ctx, uncordon(), hardened); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if len(f.calls) != 1 || strings.Contains(printed.String(), "kubectl uncordon") {
		t.Errorf("calls %q\n%s", f.calls, printed)
	}
}

func TestTourEndsCleanAfterAFailure(t *testing.T) {
	f := &fakeCluster{is: fullHardened, brokenSwitch: map[string]error{inTree: errors.New("no disk")}}
	tour, _ := newTour(t.Context(), f, nil)
	if err := tour.run(t.Context()); err == nil || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("err = %v", err)
	}
	if got, want := f.switches(), []string{toInTree, toHardened}; !slices.Equal(got, want) {
		t.Errorf("switches %q, want %q", got, want)
	}
	expectClean(t, f)
}

func TestProfileThatIsNotBackIsNamed(t *testing.T) {
	f := &fakeCluster{is: fullHardened, brokenSwitch: map[string]error{hardened: errors.New("no disk")}}
	tour, _ := newTour(t.Context(), f, nil)
	err := tour.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "run `make up PROFILE=hardened`: no disk") {
		t.Errorf("err = %v", err)
	}
	expectClean(t, f)
}

func TestUnexpectedOutcomes(t *testing.T) {
	for _, tc := range []struct{ name, key, answer, want string }{
		{"in-tree denies", "get secrets -n demo-payments", "Error from server (Forbidden)\n",
			`step 4, All secrets of another team, on in-tree: expected "allowed", got "neither allowed nor denied by a rule"`},
		{"a rule denies on in-tree", "create token", "x [NR-SA-6]\n",
			`step 5, A token for ten years, on in-tree: expected "allowed", got "denied by NR-SA-6"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fakeCluster{is: fullHardened, answers: map[string][]string{tc.key: {tc.answer}}}
			tour, printed := newTour(t.Context(), f, nil)
			if err := tour.run(t.Context()); err == nil || err.Error() != tc.want {
				t.Errorf("err = %v", err)
			}
			if !strings.Contains(printed.String(), "The demo expected: allowed.") {
				t.Error(printed)
			}
			expectClean(t, f)
		})
	}
}

func TestHardenedThatAllowsIsReported(t *testing.T) {
	f := &fakeCluster{is: fullHardened, answers: map[string][]string{
		"create token": {"2036-11-23T09:16:01Z", "2036-11-23T09:16:02Z"},
	}}
	tour, _ := newTour(t.Context(), f, nil)
	err := tour.run(t.Context())
	if want := `step 5, A token for ten years, on hardened: expected "denied by NR-SA-6", got "allowed"`; err == nil ||
		err.Error() != want {
		t.Errorf("err = %v", err)
	}
}

func TestAnswersThatTakeTime(t *testing.T) {
	f := &fakeCluster{is: fullHardened, answers: map[string][]string{
		"get endpointslices": {"bulkhead-control-plane", "bulkhead-control-plane"},
		"curl -sk":           {"Unable to connect to the server", "Unauthorized: the TokenReview failed [KA-AUTH-1]"},
	}}
	tour, printed := newTour(t.Context(), f, nil)
	if err := tour.run(t.Context()); err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
	if strings.Contains(printed.String(), "TokenReview failed") {
		t.Error("an answer that was not a decision is shown")
	}
}

func TestOthersObjectsAreKept(t *testing.T) {
	for _, tc := range []struct{ name, key, answer, want string }{
		{"namespace", "get namespaces demo-shop", "namespace/demo-shop\n", "exists, and is not of the demo"},
		{"cordoned node", "jsonpath='{.spec.unschedulable}'", "true", "is cordoned"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fakeCluster{is: fullHardened, answers: map[string][]string{tc.key: {tc.answer}}}
			tour, _ := newTour(t.Context(), f, nil)
			if err := tour.run(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v", err)
			}
			if slices.ContainsFunc(f.calls, isRemoval) || len(f.switches()) > 0 ||
				slices.Contains(f.calls, "bulkhead-control-plane: kubectl uncordon bulkhead-worker") {
				t.Errorf("the cluster was changed: %q", f.calls)
			}
		})
	}
}

func TestObjectsOfAKilledDemoAreRemovedFirst(t *testing.T) {
	f := &fakeCluster{is: fullHardened, answers: map[string][]string{"get namespaces -l": {"namespace/demo-shop\n"}}}
	tour, _ := newTour(t.Context(), f, nil)
	if err := tour.run(t.Context()); err != nil {
		t.Error(err)
	}
	removal, change := slices.IndexFunc(f.calls, isRemoval), slices.Index(f.calls, toInTree)
	if removal < 0 || removal > change {
		t.Errorf("calls %q", f.calls)
	}
}

func TestOutputFitsTheScreen(t *testing.T) {
	tour, printed := newTour(t.Context(), &fakeCluster{is: fullHardened}, nil)
	if err := tour.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(printed.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if strings.Contains(printed.String(), "\x1b") {
		t.Error("there are colors")
	}
	if found := regexp.MustCompile(`[^\n\P{C}]`).FindString(printed.String()); found != "" {
		t.Errorf("the bytes of a WebSocket frame are printed: %q", found)
	}
}

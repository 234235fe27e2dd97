// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// longest is how long the recording may be.
const longest = 3 * time.Minute

// recording is a parsed file.
type recording struct {
	header castHeader
	// ends is the time of the last event.
	ends time.Duration
	// text is what is on the screen, without colors.
	text string
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

// replay parses the header and every event, and returns what they show.
func replay(t *testing.T, from io.Reader) recording {
	t.Helper()
	var r recording
	var text strings.Builder
	lines := bufio.NewScanner(from)
	if !lines.Scan() {
		t.Fatal("the recording is empty")
	}
	strict := json.NewDecoder(strings.NewReader(lines.Text()))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&r.header); err != nil {
		t.Fatalf("line 1: %v", err)
	}
	for n := 2; lines.Scan(); n++ {
		var event []any
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil || len(event) != 3 {
			t.Fatalf("line %d: %v: %s", n, err, lines.Text())
		}
		seconds, isNumber := event[0].(float64)
		shown, isText := event[2].(string)
		if !isNumber || event[1] != "o" || !isText || shown == "" {
			t.Fatalf("line %d is not the output of text: %s", n, lines.Text())
		}
		at := time.Duration(seconds * float64(time.Second))
		if at < r.ends {
			t.Errorf("line %d goes back in time: %s after %s", n, at, r.ends)
		}
		r.ends = at
		text.WriteString(shown)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if found := strings.Count(text.String(), "\n"); found != strings.Count(text.String(), "\r\n") {
		t.Errorf("a line does not begin at the first column")
	}
	r.text = strings.ReplaceAll(ansi.ReplaceAllString(text.String(), ""), "\r\n", "\n")
	return r
}

func committed(t *testing.T) recording {
	t.Helper()
	file, err := os.Open("../../docs/demo.cast")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	return replay(t, file)
}

func TestRecordingPlays(t *testing.T) {
	r := committed(t)
	if r.header.Version != 2 || r.header.Width != width || r.header.Height != 24 {
		t.Errorf("header %+v", r.header)
	}
	if r.ends > longest || r.ends < time.Minute {
		t.Errorf("the recording lasts %s", r.ends)
	}
	if strings.Contains(r.text, "\x1b") {
		t.Error("the recording changes more of the terminal than colors")
	}
}

const recordAgain = "record again: make demo DEMO_FLAGS=--record=docs/demo.cast"

// fixed are the lines that the code prints without the cluster: headings, words, commands, verdicts
// and the table.
func fixed(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if fixedLine.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

var fixedLine = regexp.MustCompile(`^(──|══|attacker\$|admin\$|  (-[a-z] |--[a-z]|-H|"\$)|→|.* (allowed|unclear)  )`)

// TestRecordingIsOfTheseSteps compares the recording with the demo on a fake cluster, which shows the
// steps of the code with the expected outcomes.
func TestRecordingIsOfTheseSteps(t *testing.T) {
	tour, printed := newTour(t.Context(), &fakeCluster{is: fullHardened}, nil)
	if err := tour.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := committed(t)
	want, got := fixed(printed.String()), fixed(r.text)
	for i, line := range want {
		if i >= len(got) || got[i] != line {
			recorded := strings.Join(got[min(i, len(got)):min(i+1, len(got))], "")
			t.Fatalf("line %d of the demo is\n%sand of the recording\n%s%s", i+1, line, recorded, recordAgain)
		}
	}
	if len(got) > len(want) {
		t.Errorf("the recording has a step that the demo does not have: %s%s", got[len(want)], recordAgain)
	}
	said := slices.Clone(intro)
	for _, s := range story() {
		said = append(said, s.words)
	}
	for _, text := range said {
		if !strings.Contains(r.text, strings.Join(wrap(text, width), "\n")+"\n") {
			t.Errorf("the recording does not say %q; %s", text, recordAgain)
		}
	}
}

// TestRecordingShowsEachOutcome does not trust the comparison above: each step is there twice, once
// allowed, once with its rule in the answer of the cluster and in the verdict.
func TestRecordingShowsEachOutcome(t *testing.T) {
	_, after, _ := strings.Cut(committed(t).text, "══ Act 1")
	first, second, _ := strings.Cut(after, "══ Act 2")
	second, _, _ = strings.Cut(second, "\n══ ")
	for i, s := range story() {
		if part := section(first, i, s); !strings.Contains(part, "→ in-tree: allowed. ") || !s.proof.MatchString(part) {
			t.Errorf("%s: no proof that it works on in-tree:\n%s", s.title, part)
		}
		part := section(second, i, s)
		if !strings.Contains(part, "→ in-tree: allowed   → hardened: "+string(s.hardened)+"\n") {
			t.Errorf("%s: no verdict %q:\n%s", s.title, s.hardened, part)
		}
		answer, _, _ := strings.Cut(part, "→")
		if got := s.judge(answer); got != s.hardened {
			t.Errorf("%s: the answer shows %q:\n%s", s.title, got, part)
		}
	}
}

// section is what an act shows of a step.
func section(act string, i int, s step) string {
	_, after, _ := strings.Cut(act, "── "+numbered(i, len(story()), s.title)+" ──")
	part, _, _ := strings.Cut(after, "\n── ")
	return part
}

// TestRecordingHasNothingOfTheMachine: no path outside of the nodes, no credential, no other host.
func TestRecordingHasNothingOfTheMachine(t *testing.T) {
	text := committed(t).text
	for _, pattern := range []string{
		`/(work|home|root|Users|run|mnt|opt|go|builds?|workspace)/`, `unix://`, `_output/(kubeconfig|logs)`,
		`BEGIN [A-Z ]+`, `eyJ[A-Za-z0-9_-]{8}`, `[A-Za-z0-9+/]{60,}`, `(?i)sha256:`, `\b\d+\.\d+\.\d+\.\d+\b`,
	} {
		if found := regexp.MustCompile(pattern).FindString(text); found != "" {
			t.Errorf("the recording has %q", found)
		}
	}
	if dir, err := os.Getwd(); err != nil || strings.Contains(text, strings.TrimSuffix(dir, "/scripts/demo")) {
		t.Errorf("the recording has the path of the checkout; %v", err)
	}
	for _, address := range regexp.MustCompile(`https?://([^/\s:"]+)`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains([]string{controlPlane, worker}, address[1]) {
			t.Errorf("the recording has the host %s", address[1])
		}
	}
}

func TestRecordingOfADemoReplays(t *testing.T) {
	var file strings.Builder
	now := time.Unix(1000, 0)
	c := newCast(&file, func() time.Time { return now })
	tour, printed := newTour(t.Context(), &fakeCluster{is: fullHardened}, c)
	if err := tour.run(t.Context()); err != nil || c.err != nil {
		t.Fatal(err, c.err)
	}
	if r := replay(t, strings.NewReader(file.String())); r.text != printed.String() || r.header.Timestamp != 1000 {
		t.Errorf("the recording shows something else: %s", r.text)
	}
}

func TestRecordingShortensWaitsOnly(t *testing.T) {
	var file strings.Builder
	now := time.Unix(1000, 0)
	c := newCast(&file, func() time.Time { return now })
	write := func(after, pause time.Duration) time.Duration {
		now = now.Add(after)
		if pause > 0 {
			c.pause(pause)
		}
		if _, err := c.Write([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
		return c.at
	}
	for _, tc := range []struct{ after, pause, want time.Duration }{
		{100 * time.Millisecond, 0, 100 * time.Millisecond},
		{time.Minute, 0, 1300 * time.Millisecond},
		{3 * time.Second, 3 * time.Second, 4300 * time.Millisecond},
		{time.Minute, 3 * time.Second, 8500 * time.Millisecond},
		{0, 0, 8500 * time.Millisecond},
	} {
		if got := write(tc.after, tc.pause); got != tc.want {
			t.Errorf("%s after the last event, with a pause of %s: at %s, want %s", tc.after, tc.pause, got, tc.want)
		}
	}
	replay(t, strings.NewReader(file.String()))
}

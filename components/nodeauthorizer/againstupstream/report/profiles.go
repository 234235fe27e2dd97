// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

const (
	// profiledFor is long enough for a hundred samples on each core.
	profiledFor = time.Second
	// listed is how many functions of a profile are shown.
	listed = 20
)

// CPUProfile does the work over and over for a second and says which functions it
// was spent in. Only one may be taken at a time.
func CPUProfile(title string, work func()) (Profile, error) {
	var raw bytes.Buffer
	if err := pprof.StartCPUProfile(&raw); err != nil {
		return Profile{}, fmt.Errorf("profiling: %w", err)
	}
	for start := time.Now(); time.Since(start) < profiledFor; {
		work()
	}
	pprof.StopCPUProfile()
	text, err := TopOf(&raw, "cpu")
	return Profile{Title: title, Text: text}, err
}

// weight is what a function has of a profile: itself, and with what it calls.
type weight struct{ flat, total int64 }

// TopOf lists the functions that weigh most in a profile of pprof's format, by a
// type of sample that is in it: "cpu", "inuse_space".
func TopOf(raw io.Reader, sampleType string) (string, error) {
	parsed, err := profile.Parse(raw)
	if err != nil {
		return "", fmt.Errorf("reading a profile: %w", err)
	}
	index, err := parsed.SampleIndexByName(sampleType)
	if err != nil {
		return "", fmt.Errorf("reading a profile: %w", err)
	}
	weights, all := weigh(parsed, index)
	names := make([]string, 0, len(weights))
	for name := range weights {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(-cmp.Compare(weights[a].flat, weights[b].flat), -cmp.Compare(weights[a].total, weights[b].total), cmp.Compare(a, b))
	})
	var out strings.Builder
	fmt.Fprintf(&out, "%7s %12s  of %d %s\n", "itself", "with callees", all, parsed.SampleType[index].Unit)
	for _, name := range names[:min(listed, len(names))] {
		w := weights[name]
		fmt.Fprintf(&out, "%6.1f%% %11.1f%%  %s\n", part(w.flat, all), part(w.total, all), name)
	}
	return out.String(), nil
}

func part(value, all int64) float64 { return 100 * float64(value) / float64(max(all, 1)) }

// weigh counts a function once for each sample, however often it calls itself.
func weigh(parsed *profile.Profile, index int) (weights map[string]weight, all int64) {
	weights = map[string]weight{}
	for _, sample := range parsed.Sample {
		value := sample.Value[index]
		all += value
		seen := map[string]bool{}
		for i, location := range sample.Location {
			for j, line := range location.Line {
				name := line.Function.Name
				w := weights[name]
				if i == 0 && j == 0 {
					w.flat += value
				}
				if !seen[name] {
					w.total += value
				}
				seen[name], weights[name] = true, w
			}
		}
	}
	return weights, all
}

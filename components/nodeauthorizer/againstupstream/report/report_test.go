// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSample(t *testing.T) {
	for _, tc := range []struct {
		name          string
		sample        Sample
		median        float64
		p50, p99      float64
		least, most   float64
		leavesUntouch Sample
	}{
		{"one value is all its figures", Sample{7}, 7, 7, 7, 7, 7, Sample{7}},
		{"the median of an odd number is in the middle", Sample{9, 1, 5}, 5, 5, 9, 1, 9, Sample{9, 1, 5}},
		{"the median of an even number is between two", Sample{4, 1, 3, 10}, 3.5, 3, 10, 1, 10, Sample{4, 1, 3, 10}},
		{"an outlier does not move the median", Sample{1, 1, 1, 1, 1000}, 1, 1, 1000, 1, 1000, Sample{1, 1, 1, 1, 1000}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := []float64{tc.sample.Median(), tc.sample.Percentile(50), tc.sample.Percentile(99), tc.sample.Min(), tc.sample.Max()}
			if diff := cmp.Diff([]float64{tc.median, tc.p50, tc.p99, tc.least, tc.most}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tc.leavesUntouch, tc.sample); diff != "" {
				t.Errorf("the sample was reordered (-want +got)\n%s", diff)
			}
		})
	}
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	var sample Sample
	for i := range 200 {
		sample = append(sample, float64(200-i))
	}
	for _, tc := range []struct{ p, want float64 }{{0, 1}, {50, 100}, {99, 198}, {99.9, 200}, {100, 200}} {
		if got := sample.Percentile(tc.p); got != tc.want {
			t.Errorf("percentile %v is %v, want %v", tc.p, got, tc.want)
		}
	}
}

func TestNothingMeasuredIsNotANumber(t *testing.T) {
	var none Sample
	for name, got := range map[string]float64{"median": none.Median(), "percentile": none.Percentile(50), "min": none.Min(), "max": none.Max()} {
		if !math.IsNaN(got) {
			t.Errorf("%s of nothing is %v", name, got)
		}
	}
}

// A ratio is of the medians, not the median of ratios: runs of the two sides are
// near each other, but they are not the same run.
func TestComparison(t *testing.T) {
	c := Comparison{Ours: Sample{1, 2, 3}, Theirs: Sample{10, 4, 3}}
	if got := c.Ratio(); got != 0.5 {
		t.Errorf("the ratio is %v, want 0.5", got)
	}
	if diff := cmp.Diff(Sample{0.1, 0.5, 1}, c.Ratios()); diff != "" {
		t.Errorf("run by run (-want +got)\n%s", diff)
	}
}

func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		name       string
		bar, value float64
		want       string
	}{
		{"below the bar is a pass", 1, 0.5, "pass"},
		{"on the bar is a pass", 0, 0, "pass"},
		{"above the bar is a miss", 1, 1.001, "**MISSED**"},
		{"what was not measured is a miss", 1, math.NaN(), "**MISSED**"},
		{"without a bar there is no verdict", NoBar, 5, "–"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := (Row{Bar: tc.bar, Value: tc.value}).Verdict(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

var rows = []Row{
	FromComparison("one write", 1.0/3, Comparison{Ours: Sample{1, 2, 3}, Theirs: Sample{10, 10, 10}}),
	FromSample("memory", 250, "%.0f MB", Sample{300, 280, 310}),
	FromSample("cores", NoBar, "%.2f", Sample{0.25}),
	{What: "a|b", Bar: 1, Value: math.NaN(), Low: math.NaN(), High: math.NaN(), Format: "%.1f"},
}

func TestSummary(t *testing.T) {
	const page = `| what | bar | median | least – most | verdict | which |
|---|---|---|---|---|---|
| one write | ≤ 0.333 × | 0.200 × | 0.100 × – 0.300 × | pass |  |
| memory | ≤ 250 MB | 300 MB | 280 MB – 310 MB | **MISSED** |  |
| cores | published | 0.25 | 0.25 – 0.25 | – |  |
| a\|b | ≤ 1.0 | not measured | not measured – not measured | **MISSED** |  |
`
	if diff := cmp.Diff(page, Summary(rows).Markdown()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want := []string{"what", "bar", "median", "least – most", "verdict", "which"}
	plain := Summary(rows).Plain()
	first, _, _ := strings.Cut(plain, "\n")
	if diff := cmp.Diff(want, regexp.MustCompile(`  +`).Split(first, -1)); diff != "" || strings.Contains(plain, "**") {
		t.Errorf("(-want +got)\n%s\n%s", diff, plain)
	}
}

func TestDocument(t *testing.T) {
	curves := Curves{Title: "growth", X: "pods", Y: "nanoseconds", Lines: []Line{
		{Name: "ours", X: []float64{1, 10, 100}, Y: []float64{5, 5, 6}},
		{Name: "in-tree", Theirs: true, X: []float64{1, 10, 100}, Y: []float64{10, 100, 1000}},
	}}
	document := &Document{
		Machine: "a machine", Versions: "v1", Command: "make bench", Plot: "growth.svg",
		Sections: []Section{
			{Title: "First", Text: "How.", Rows: rows[:2], Profiles: []Profile{{Title: "memory", Text: "all of it\n"}}},
			{Title: "Second", Text: "How else.", Rows: rows[2:], Curves: []Curves{curves}, Tables: []Table{{Title: "More", Header: []string{"a"}, Rows: [][]string{{"1"}}}}},
		},
	}
	page := document.Markdown()
	for _, want := range []string{
		"- Machine: a machine\n", "`make bench`", "\n2 bars are missed.\n", "\n## First\n\nHow.\n", "Profile: memory</summary>\n\n```\nall of it\n```\n",
		"](growth.svg)", "**More**\n\n| a |\n|---|\n| 1 |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	svg, err := SVG(document.Curves())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", ">growth</text>", ">in-tree</text>", ">nanoseconds</text>"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the curves lack %q", want)
		}
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"slices"
)

// Sample holds the same quantity as several runs found it, in the order of the
// runs. Of an empty one every figure is NaN.
type Sample []float64

// Median is the middle value, or the mean of the two in the middle.
func (s Sample) Median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Percentile is the smallest value that at least p percent of the values do not
// exceed (the nearest rank). p is from 0 to 100.
func (s Sample) Percentile(p float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Min is the smallest value.
func (s Sample) Min() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return slices.Min(s)
}

// Max is the largest value.
func (s Sample) Max() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	return slices.Max(s)
}

// Comparison is what two sides took for the same work, run by run.
type Comparison struct{ Ours, Theirs Sample }

// Ratio is our median divided by theirs.
func (c Comparison) Ratio() float64 { return c.Ours.Median() / c.Theirs.Median() }

// Ratios divides run by run: what was measured a moment apart. It is as long as
// the shorter side.
func (c Comparison) Ratios() Sample {
	ratios := make(Sample, 0, len(c.Ours))
	for i := range min(len(c.Ours), len(c.Theirs)) {
		ratios = append(ratios, c.Ours[i]/c.Theirs[i])
	}
	return ratios
}

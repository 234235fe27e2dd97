// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"math"
	"strconv"
)

// unitNames are what the axes say, by Grafana's name of a unit.
var unitNames = map[string]string{"reqps": "requests/s", "s": "time", "Bps": "bytes/s", "none": "number"}

// unitName returns the text for an axis.
func unitName(unit string) string {
	if name, known := unitNames[unit]; known {
		return name
	}
	return unit
}

// step is a multiple of a unit with a name of its own.
type step struct {
	from, divisor float64
	suffix        string
}

var (
	timeSteps = []step{
		{2 * 86400, 86400, " d"}, {2 * 3600, 3600, " h"}, {120, 60, " min"}, {1, 1, " s"}, {1e-3, 1e-3, " ms"},
		{0, 1e-6, " µs"},
	}
	byteSteps   = []step{{1 << 20, 1 << 20, " MiB/s"}, {1 << 10, 1 << 10, " KiB/s"}, {0, 1, " B/s"}}
	numberSteps = []step{{1e6, 1e6, " M"}, {1e4, 1e3, " k"}, {0, 1, ""}}
)

// format returns a value with its unit, with at most three digits that count.
func format(value float64, unit string) string {
	if value == 0 {
		return "0"
	}
	steps := numberSteps
	switch unit {
	case "s":
		steps = timeSteps
	case "Bps":
		steps = byteSteps
	}
	last := steps[len(steps)-1]
	for _, s := range steps {
		if math.Abs(value) >= s.from {
			last = s
			break
		}
	}
	return strconv.FormatFloat(round(value/last.divisor), 'f', -1, 64) + last.suffix
}

// round keeps three digits that count, and all digits before the point.
func round(value float64) float64 {
	if value == 0 || math.IsNaN(value) || math.IsInf(value, 0) {
		return value
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(value)))))
	factor := math.Pow(10, float64(digits))
	return math.Round(value*factor) / factor
}

// axis returns the distance of the marks of an axis from 0 to at least highest, and its end. There
// are 2 to 5 marks.
func axis(highest float64) (distance, end float64) {
	if highest <= 0 || math.IsNaN(highest) || math.IsInf(highest, 0) {
		return 0.5, 1
	}
	power := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, factor := range []float64{0.2, 0.25, 0.5, 1, 2, 2.5} {
		distance = power * factor
		if marks := math.Ceil(highest/distance - 1e-9); marks <= 5 {
			return distance, distance * marks
		}
	}
	return power, power * math.Ceil(highest/power)
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// results contains all values by benchmark and unit, in the order of the runs.
type results map[string]map[string][]float64

// parse parses the lines of benchmarks and ignores all others. It removes the number of cores from
// names.
func parse(text string) results {
	found := results{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if dash := strings.LastIndexByte(name, '-'); dash > strings.LastIndexByte(name, '/') {
			if _, err := strconv.Atoi(name[dash+1:]); err == nil {
				name = name[:dash]
			}
		}
		if found[name] == nil {
			found[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				found[name][fields[i+1]] = append(found[name][fields[i+1]], value)
			}
		}
	}
	return found
}

// median returns the median, or 0 if there is no value.
func (r results) median(name, unit string) float64 {
	values := slices.Sorted(slices.Values(r[name][unit]))
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}

func (r results) names() []string { return slices.Sorted(maps.Keys(r)) }

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// results has every value of every unit of every benchmark, in the order of the turns.
type results map[string]map[string][]float64

// parse reads the lines of benchmarks and ignores all others. The number of cores is not part
// of a name here.
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

// median is 0 of what was not measured.
func (r results) median(name, unit string) float64 {
	values := slices.Sorted(slices.Values(r[name][unit]))
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}

func (r results) names() []string { return slices.Sorted(maps.Keys(r)) }

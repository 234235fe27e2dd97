// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// bar is the upper limit of a measured value. If it has a subject to compare with, it limits the
// ratio to that subject.
type bar struct {
	name, unit, than string
	most             float64
}

// bars are checked if their benchmark was run. The bars for memory and for the time until ready are
// for a cluster of 100,000 pods, and are checked only for that size.
var bars = []bar{
	{"SubjectAccessReview/callers=1/subject=bulkhead", "p50-µs", "in-tree", 1.3},
	{"SubjectAccessReview/callers=1/subject=bulkhead", "p99-µs", "in-tree", 1.3},
	{"SubjectAccessReview/callers=64/subject=bulkhead", "p50-µs", "in-tree", 1.3},
	{"SubjectAccessReview/callers=64/subject=bulkhead", "p99-µs", "in-tree", 1.3},
	{"AdmissionReview/callers=1/subject=bulkhead", "p50-µs", "in-tree", 1.3},
	{"AdmissionReview/callers=1/subject=bulkhead", "p99-µs", "in-tree", 1.3},
	{"AdmissionReview/callers=64/subject=bulkhead", "p50-µs", "in-tree", 1.3},
	{"AdmissionReview/callers=64/subject=bulkhead", "p99-µs", "in-tree", 1.3},
	{"ProxyRequest/body=2KB/callers=1/subject=bulkhead", "p50-µs", "bare", 1.15},
	{"ProxyRequest/body=2KB/callers=1/subject=bulkhead", "p99-µs", "bare", 1.15},
	{"ProxyRequest/body=40KB/callers=16/subject=bulkhead", "p50-µs", "bare", 1.15},
	{"ProxyRequest/body=40KB/callers=16/subject=bulkhead", "p99-µs", "bare", 1.15},
	{"ProxyStream/subject=bulkhead", "ns/op", "bare", 1},
	{"ProxyIdleStreams/subject=bulkhead", "heap-KiB/stream", "", 96},
	{"Start/program=node-authorizer", "peak-rss-MB", "", 250},
	{"Start/program=node-authorizer", "ready-s", "", 10},
	{"Start/program=node-restriction", "peak-rss-MB", "", 250},
	{"Start/program=node-restriction", "ready-s", "", 10},
	{"Graph/subject=bulkhead", "heap-MB", "in-tree", 1.0 / 3},
}

// units are the units that the page shows.
var units = []string{
	"p50-µs", "p99-µs", "MB/s", "heap-MB", "peak-rss-MB", "ready-s",
	"heap-KiB/stream", "rss-KiB/stream", "streams-of-another",
}

const largeCluster = 100_000

// writeTables writes the bars, and then all measured values.
func writeTables(out *strings.Builder, found results) (missed int) {
	out.WriteString("| bar | most | median | least – most | verdict |\n|---|---|---|---|---|\n")
	for _, b := range bars {
		values := b.values(found)
		if len(values) == 0 || found.median(b.name, "pods") > 0 && found.median(b.name, "pods") < largeCluster {
			continue
		}
		slices.Sort(values)
		verdict := "pass"
		if values[len(values)/2] > b.most {
			verdict = "**MISSED**"
			missed++
		}
		what := strings.ReplaceAll(b.name, "/subject=bulkhead", "") + ", " + b.unit
		if b.than != "" {
			what += " ÷ " + b.than
		}
		fmt.Fprintf(
			out,
			"| %s | %.2f | %.2f | %.2f – %.2f | %s |\n",
			what,
			b.most,
			values[len(values)/2],
			values[0],
			values[len(values)-1],
			verdict,
		)
	}
	out.WriteString("\n| benchmark | unit | median |\n|---|---|---|\n")
	for _, name := range found.names() {
		for _, unit := range units {
			if found[name][unit] != nil {
				fmt.Fprintf(out, "| %s | %s | %.1f |\n", name, unit, found.median(name, unit))
			}
		}
	}
	return missed
}

// values returns the values that the bar applies to, one for each run.
func (b bar) values(found results) []float64 {
	values := slices.Clone(found[b.name][b.unit])
	if b.than == "" {
		return values
	}
	others := found[strings.ReplaceAll(b.name, "subject=bulkhead", "subject="+b.than)][b.unit]
	values = values[:min(len(values), len(others))]
	for i := range values {
		values[i] /= others[i]
	}
	return values
}

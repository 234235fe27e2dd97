// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/bench"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/loopback"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/process"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// plot is written next to the page.
const plot = "performance-growth.svg"

type options struct {
	root, only string
	quick      bool
	cpuTime    bool
	// size is that of the cluster in front of which the whole process runs.
	size process.Size
}

// measurement finds out one section of the page.
type measurement struct {
	name string
	// slow ones are left out of the quick form.
	slow bool
	do   func(context.Context) (report.Section, error)
}

func (o options) measurements() []measurement {
	start := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
	plan, turn := bench.Full(say), 3*time.Second
	if o.quick {
		plan, turn = bench.Quick(say), 500*time.Millisecond
	}
	plan.CPUTime = o.cpuTime
	return []measurement{
		{"decisions", false, func(ctx context.Context) (report.Section, error) { return bench.Decisions(ctx, plan) }},
		{"making", false, func(ctx context.Context) (report.Section, error) { return bench.Making(ctx, plan) }},
		{"writes", false, func(ctx context.Context) (report.Section, error) { return bench.Writes(ctx, plan) }},
		{"reviews", false, func(ctx context.Context) (report.Section, error) { return loopback.Reviews(ctx, plan, turn) }},
		{"scoped", false, func(ctx context.Context) (report.Section, error) { return loopback.ScopedReviews(ctx, plan, turn) }},
		{"process", true, func(ctx context.Context) (report.Section, error) {
			return process.Whole(ctx, process.Plan{
				Root: o.root, Size: o.size, Runs: 5, Rest: 30 * time.Second, Events: 20 * time.Second, Refusals: 300, Say: say,
			})
		}},
		{"growth", false, func(ctx context.Context) (report.Section, error) { return bench.Growth(ctx, plan) }},
	}
}

// run measures everything, one after the other, and writes the page.
func run(ctx context.Context, o options) error {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	o.root = root
	document := &report.Document{
		Machine: report.Machine(), Command: "make bench", Plot: plot,
		Versions: "Kubernetes " + report.KubernetesVersion(),
	}
	for _, m := range o.measurements() {
		if o.leavesOut(m) {
			continue
		}
		section, err := m.do(ctx)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", m.name, err)
		}
		document.Sections = append(document.Sections, section)
		// What one measurement leaves is not to be collected during the next.
		runtime.GC()
	}
	fmt.Print("\n", report.Summary(document.Rows()).Plain(), "\n")
	fmt.Printf("%s\n%d bars missed.\n", document.Machine, document.Missed())
	switch {
	case o.only != "":
		fmt.Print("\n", document.Markdown())
		return nil
	case o.quick:
		fmt.Println("Left out of the quick form: the whole process.")
		return nil
	}
	return write(filepath.Join(o.root, "docs"), document)
}

func (o options) leavesOut(m measurement) bool {
	if o.only != "" {
		return !slices.Contains(strings.Split(o.only, ","), m.name)
	}
	return o.quick && m.slow
}

// write puts the page and its curves into a directory.
func write(dir string, document *report.Document) error {
	svg, err := report.SVG(document.Curves())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, plot), svg, 0o644); err != nil { //nolint:gosec // a page for everybody
		return err
	}
	page := filepath.Join(dir, "performance.md")
	// Parts of it are written by other programs.
	old, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(page, []byte(report.Keep(string(old), document.Markdown())), 0o644); err != nil { //nolint:gosec // a page for everybody
		return err
	}
	fmt.Println("Wrote docs/performance.md and docs/" + plot + ".")
	return nil
}

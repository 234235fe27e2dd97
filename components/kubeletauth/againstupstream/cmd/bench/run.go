// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/realkubelet"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/requests"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/reviews"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/againstupstream/streams"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
)

// plot is written next to the page.
const plot = "performance-kubelet.svg"

type options struct {
	root, only string
	quick      bool
	start      time.Time
}

// say tells whoever waits what is being measured.
func (o options) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(o.start).Seconds(), fmt.Sprintf(format, args...))
}

func (o options) plan() sides.Plan {
	if o.quick {
		return sides.Quick(o.root, o.say)
	}
	return sides.Full(o.root, o.say)
}

// run measures, prints, and writes unless it is asked for a look only.
func run(ctx context.Context, o options) error {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	o.root = root
	document, err := measure(ctx, o.plan(), o.leavesOut)
	if err != nil {
		return err
	}
	fmt.Print("\n", report.Summary(document.Rows()).Plain(), "\n")
	fmt.Printf("%s\n%d bars missed.\n", document.Machine, document.Missed())
	switch {
	case o.only != "":
		fmt.Print("\n", document.Part(title))
		return nil
	case o.quick:
		return nil
	}
	return write(filepath.Join(o.root, "docs"), document)
}

func (o options) leavesOut(name string) bool {
	return o.only != "" && !slices.Contains(strings.Split(o.only, ","), name)
}

// measurement finds out one section of the page.
type measurement struct {
	name string
	do   func(context.Context, *sides.World, sides.Plan) (report.Section, error)
}

var measurements = []measurement{
	{"requests", requests.Section},
	{"streams", streams.Section},
	{"reviews", reviews.Section},
	{"kubelet", realkubelet.Section},
}

const growthText = "How one request is slowed down by others at the same time, and how memory grows with streams that carry nothing. Each point is a median."

// measure does one after the other. The curves come last, all of them.
func measure(ctx context.Context, plan sides.Plan, leavesOut func(string) bool) (*report.Document, error) {
	document := &report.Document{Machine: report.Machine(), Command: "make bench", Versions: "net/http/httputil of " + runtime.Version(), Plot: plot}
	growth := report.Section{Title: "More callers, more streams", Text: growthText}
	err := sides.InWorld(ctx, plan, func(w *sides.World) error {
		for _, m := range measurements {
			if leavesOut(m.name) {
				continue
			}
			section, err := m.do(ctx, w, plan)
			if err != nil {
				return fmt.Errorf("measuring %s: %w", m.name, err)
			}
			growth.Curves = append(growth.Curves, section.Curves...)
			section.Curves = nil
			document.Sections = append(document.Sections, section)
			// What one measurement leaves is not to be collected during the next.
			runtime.GC()
		}
		return nil
	})
	if len(growth.Curves) > 0 {
		document.Sections = append(document.Sections, growth)
	}
	return document, err
}

const title = "The kubelet's API"

// write puts our part in the page, whose frame and other parts are not ours, and the
// curves beside it.
func write(dir string, document *report.Document) error {
	svg, err := report.SVG(document.Curves())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, plot), svg, 0o644); err != nil { //nolint:gosec // a page for everybody
		return err
	}
	if err := document.WritePart(filepath.Join(dir, "performance.md"), "kubelet-auth-proxy", title); err != nil {
		return err
	}
	fmt.Println("Wrote the part on the kubelet's API of docs/performance.md and docs/" + plot + ".")
	return nil
}

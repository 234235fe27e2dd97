// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	nodebench "github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/bench"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/report"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/bench"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/loopback"
)

type options struct {
	root, only string
	quick      bool
	start      time.Time
}

// say tells whoever waits what is being measured.
func (o options) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%5.0fs  %s\n", time.Since(o.start).Seconds(), fmt.Sprintf(format, args...))
}

// run measures, prints, and writes unless it is asked for a look only.
func run(ctx context.Context, o options) error {
	document := &report.Document{
		Machine: report.Machine(), Command: "make bench", Versions: "Kubernetes " + report.KubernetesVersion(),
	}
	if o.only != "reviews" {
		section, err := o.writes()
		if err != nil {
			return fmt.Errorf("measuring writes: %w", err)
		}
		fmt.Print("\n", section.Tables[0].Plain())
		document.Sections = append(document.Sections, section)
	}
	if o.only != "writes" {
		section, err := o.reviews(ctx)
		if err != nil {
			return fmt.Errorf("measuring reviews: %w", err)
		}
		document.Sections = append(document.Sections, section)
	}
	fmt.Print("\n", report.Summary(document.Rows()).Plain(), "\n")
	fmt.Printf("%s\n%d bars missed.\n", document.Machine, document.Missed())
	if o.quick || o.only != "" {
		return nil
	}
	return write(filepath.Join(o.root, "docs", "performance.md"), document)
}

func (o options) writes() (report.Section, error) {
	o.say("writes in process")
	if o.quick {
		return bench.Section(5, 5*time.Millisecond)
	}
	return bench.Section(61, 8*time.Millisecond)
}

func (o options) reviews(ctx context.Context) (report.Section, error) {
	restriction, err := bench.Hardened()
	if err != nil {
		return report.Section{}, err
	}
	if o.quick {
		return loopback.Reviews(ctx, restriction, nodebench.Quick(o.say), 500*time.Millisecond)
	}
	return loopback.Reviews(ctx, restriction, nodebench.Full(o.say), 3*time.Second)
}

// write puts our part in the page, whose frame and other parts are not ours.
func write(page string, document *report.Document) error {
	if err := document.WritePart(page, "node-restriction", "NodeRestriction"); err != nil {
		return err
	}
	fmt.Println("Wrote the part on NodeRestriction of docs/performance.md.")
	return nil
}

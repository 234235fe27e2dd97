// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/doctor"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// allFixes is the value of --fix without a name.
const allFixes = "all"

// fixDialog prints what a fix does, and asks before it is applied.
type fixDialog struct {
	in  io.Reader
	out io.Writer
	yes bool
}

// apply applies the fix with this name, or all. It reports whether one was applied.
func (d fixDialog) apply(ctx context.Context, fixes []doctor.Fix, name string) (changed bool, err error) {
	if name != allFixes && !slices.Contains(doctor.FixNames, name) {
		return false, fmt.Errorf("cannot apply --fix=%s: it is one of %s, or %s", name,
			strings.Join(doctor.FixNames, ", "), allFixes)
	}
	if name != allFixes {
		fixes = slices.DeleteFunc(fixes, func(f doctor.Fix) bool { return f.Name != name })
	}
	if len(fixes) == 0 {
		_, err = fmt.Fprintln(d.out, "nothing to fix")
		return false, err
	}
	answers := bufio.NewScanner(d.in)
	for _, fix := range fixes {
		_, _ = fmt.Fprintf(d.out, "fix %s:\n", fix.Name)
		for _, step := range fix.Steps {
			_, _ = fmt.Fprintf(d.out, "  %s\n", webhook.Loggable(step))
		}
		if !d.agreed(answers) {
			_, _ = fmt.Fprintln(d.out, "  not applied")
			continue
		}
		if err := fix.Apply(ctx); err != nil {
			return changed, err
		}
		changed = true
		_, _ = fmt.Fprintln(d.out, "  done")
	}
	return changed, nil
}

// agreed is false without an answer, for example at the end of the input.
func (d fixDialog) agreed(answers *bufio.Scanner) bool {
	if d.yes {
		return true
	}
	_, _ = fmt.Fprint(d.out, "apply it? [y/N] ")
	if !answers.Scan() {
		_, _ = fmt.Fprintln(d.out)
		return false
	}
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answers.Text())))
}

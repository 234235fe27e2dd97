// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/rulefmt"
)

// cause is an alert that a break causes, with labels that distinguish it from others of its name.
type cause struct {
	alert  string
	labels map[string]string
}

// matches reports whether an active alert is the expected one.
func (c cause) matches(labels map[string]string) bool {
	if labels[labelAlert] != c.alert {
		return false
	}
	for name, value := range c.labels {
		if labels[name] != value {
			return false
		}
	}
	return true
}

func (c cause) String() string {
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(c.labels)) {
		labels = append(labels, strings.TrimPrefix(c.labels[name], "bulkhead-"))
	}
	if len(labels) == 0 {
		return c.alert
	}
	return c.alert + " (" + strings.Join(labels, ", ") + ")"
}

// step changes the cluster. It may be nil.
type step func(context.Context) error

// breakage is one way to break the cluster, and the alerts that it must cause.
type breakage struct {
	// broken and repaired say what is done, for the page.
	broken, repaired string
	causes           []cause
	// also are other alerts that may fire.
	also []string
	// prepare makes the break possible, and restore undoes it. Neither causes an alert.
	prepare, restore step
	// begin breaks the cluster. again is called again and again until the alerts fire.
	begin, again step
	// repair repairs the cluster. repair and restore are also called after a failure, and at the start
	// of a run. So they must be idempotent, and do nothing if nothing is broken.
	repair step
	// ready waits until the repaired component is ready. At the start of a run, it is called after the
	// repairs of all breaks: another break may be why the component is not ready.
	ready step
}

// names are the alerts that the break causes.
func (b *breakage) names() []string {
	var names []string
	for _, c := range b.causes {
		names = append(names, c.String())
	}
	return names
}

// track are breaks that run one after the other.
type track []*breakage

// phases run one after the other. The tracks of a phase run at the same time: they do not affect the
// same component.
type phases [][]track

// all returns every break, in the order of the phases.
func (p phases) all() (breaks []*breakage) {
	for _, tracks := range p {
		for _, t := range tracks {
			breaks = append(breaks, t...)
		}
	}
	return breaks
}

// check returns an error if an alert of the rule file has no break, or a break has no alert.
func (p phases) check(groups *rulefmt.RuleGroups) error {
	caused := map[string]bool{}
	for _, b := range p.all() {
		for _, c := range b.causes {
			caused[c.alert] = true
		}
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if !caused[rule.Alert] {
				return fmt.Errorf("no break causes alert %s", rule.Alert)
			}
			delete(caused, rule.Alert)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(caused)) {
		return fmt.Errorf("there is a break for %s, and no such alert in %s", name, rulesPath)
	}
	return nil
}

// repair repairs everything that an earlier run has broken. An error does not stop the other repairs.
func (p phases) repair(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, "  … repairing what an earlier run may have left")
	var failed []error
	try := func(b *breakage, do step) {
		if do == nil {
			return
		}
		if err := do(ctx); err != nil {
			failed = append(failed, fmt.Errorf("cannot repair after %s: %w", strings.Join(b.names(), ", "), err))
		}
	}
	for _, b := range p.all() {
		try(b, b.repair)
		try(b, b.restore)
	}
	for _, b := range p.all() {
		try(b, b.ready)
	}
	return errors.Join(failed...)
}

// causesAlert reports whether the break causes the alert of this name.
func (b *breakage) causesAlert(name string) bool {
	return slices.ContainsFunc(b.causes, func(c cause) bool { return c.alert == name })
}

// expects reports whether the alert of this name may fire during the break.
func (b *breakage) expects(name string) bool {
	return b.causesAlert(name) || slices.Contains(b.also, name)
}

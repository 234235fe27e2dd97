// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	ruleModeFlag = "rule-mode"
	// defaultMode is the value of --rule-mode that removes the mode of a single rule.
	defaultMode = "default"
)

// ruleModes is the value of --rule-mode. It changes single rules of the last install, or of the file
// of --config.
type ruleModes struct {
	modes map[string]string
	// reset is true after an empty value: the modes of all other rules are removed.
	reset bool
	// file has the modes in the file of --config, if there is one.
	file    map[string]string
	hasFile bool
}

// Set adds modes of the form ID=MODE, separated by commas. An empty value removes all.
func (m *ruleModes) Set(value string) error {
	if value == "" {
		m.modes, m.reset = nil, true
		return nil
	}
	for pair := range strings.SplitSeq(value, ",") {
		if pair == "" {
			continue
		}
		id, mode, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%q: want ID=MODE", pair)
		}
		if m.modes == nil {
			m.modes = map[string]string{}
		}
		m.modes[strings.TrimSpace(id)] = strings.TrimSpace(mode)
	}
	return nil
}

// String returns the modes in the form that Set reads.
func (m *ruleModes) String() string {
	var pairs []string
	for _, id := range slices.Sorted(maps.Keys(m.modes)) {
		pairs = append(pairs, id+"="+m.modes[id])
	}
	return strings.Join(pairs, ",")
}

// Type is shown in the help.
func (m *ruleModes) Type() string { return "mapStringString" }

// useFile sets the modes in the file of --config. They replace those of the last install.
func (m *ruleModes) useFile(modes map[string]string) { m.file, m.hasFile = modes, true }

// changed returns the modes that the flag changes.
func (m *ruleModes) changed(recorded map[string]string) map[string]string {
	switch {
	case m.reset:
		return nil
	case m.hasFile:
		return m.file
	}
	return recorded
}

// apply returns the modes of single rules after this run, or nil if there are none.
func (m *ruleModes) apply(recorded map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, m.changed(recorded))
	for id, mode := range m.modes {
		if mode == defaultMode {
			delete(all, id)
			continue
		}
		all[id] = mode
	}
	return orNil(all)
}

// ofKubelets reports whether the flag changes the mode of a rule of the kubelets' API. All hosts share these.
func (m *ruleModes) ofKubelets() bool {
	for id := range m.modes {
		if strings.HasPrefix(id, "KA-") {
			return true
		}
	}
	return m.reset
}

// validate checks the IDs of the rules that go back to their default. The installer checks all others.
// An ID that an older version has recorded can be removed.
func (m *ruleModes) validate(recorded map[string]string) error {
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(m.modes)) {
		_, set := m.changed(recorded)[id]
		known := slices.ContainsFunc(allRules(), func(rule rules.Rule) bool { return string(rule.ID) == id })
		if m.modes[id] == defaultMode && !set && !known {
			errs = append(errs, fmt.Errorf("--%s: unknown rule %q; bulkhead rules lists all rules", ruleModeFlag, id))
		}
	}
	return errors.Join(errs...)
}

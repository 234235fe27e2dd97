// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import "github.com/bulkhead-k8s/bulkhead/components/nodescope"

// MaxValues bounds the different values of annotations that are kept, and so the memory
// that everybody who may annotate pods or accounts can take. A cluster has a value for
// each DaemonSet, not for each of its pods.
const MaxValues = 4096

// value is one that somebody has, parsed.
type value struct {
	text  string
	scope *nodescope.Scope
	// err says why the value could not be read; the scope is everything then.
	err     error
	holders int
}

// misread is false for no value.
func (v *value) misread() bool { return v != nil && v.err != nil }

// values keeps each value once.
type values struct{ known map[string]*value }

// full stands for every value that there is no room for.
var full = &value{scope: nodescope.Everything(), err: errFull}

// hold finds or parses the value. What is held has to be released once.
func (v *values) hold(text string) *value {
	if known, ok := v.known[text]; ok {
		known.holders++
		return known
	}
	scope, err := nodescope.ParseScope(text)
	switch {
	case err != nil && len(text) > nodescope.MaxValueLength:
		// The text itself is not kept.
		return &value{scope: scope, err: err}
	case len(v.known) >= MaxValues:
		return full
	}
	held := &value{text: text, scope: scope, err: err, holders: 1}
	v.known[text] = held
	return held
}

func (v *values) release(held *value) {
	if held == nil || held.holders == 0 {
		return
	}
	if held.holders--; held.holders == 0 {
		delete(v.known, held.text)
	}
}

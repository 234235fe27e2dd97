// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"maps"
	"slices"
)

// writing is one attempt to write the ConfigMap.
type writing struct {
	data    map[string]string
	changed bool
	// stored has the records that this attempt stores. noSpace has those that did not fit.
	stored, noSpace map[string]waiting
}

// change is a change of one key of the ConfigMap. An empty text removes the key.
type change struct {
	name, text string
	// more is the number of bytes by which the ConfigMap grows. It may be negative.
	more int
}

// merge adds the waiting records to data. Changes that shrink the data come first, to make space. A
// stored record is never removed to make space for another one.
func (m *Store) merge(data map[string]string) writing {
	m.mu.RLock()
	defer m.mu.RUnlock()
	w := writing{data: maps.Clone(data), stored: map[string]waiting{}, noSpace: map[string]waiting{}}
	if w.data == nil {
		w.data = map[string]string{}
	}
	total := size(w.data)
	for _, c := range m.changes(w) {
		if c.more > 0 && total+c.more > mostBytes {
			w.noSpace[c.name] = m.waiting[c.name]
			continue
		}
		w.stored[c.name] = m.waiting[c.name]
		total += c.more
		w.apply(c)
	}
	return w
}

// changes returns the waiting changes, in the order of their growth. It skips a record if another
// instance has stored one from a newer Node.
func (m *Store) changes(w writing) []change {
	var all []change
	for name, ours := range m.waiting {
		before, is := w.data[name]
		if is && isOlder(ours.version, decode(before).version) {
			w.stored[name] = ours
			continue
		}
		c := change{name: name}
		if r, known := m.records[name]; known && !r.unreadable {
			c.text = r.encode()
			c.more = len(name) + len(c.text)
		}
		if is {
			c.more -= len(name) + len(before)
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b change) int { return a.more - b.more })
	return all
}

func (w *writing) apply(c change) {
	before, is := w.data[c.name]
	switch {
	case c.text == "" && is:
		delete(w.data, c.name)
		w.changed = true
	case c.text != "" && c.text != before:
		w.data[c.name] = c.text
		w.changed = true
	}
}

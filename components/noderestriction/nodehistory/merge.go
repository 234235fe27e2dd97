// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"maps"
	"slices"
)

// writing is one attempt to store.
type writing struct {
	data    map[string]string
	changed bool
	// stored waited for this; noRoom did not fit.
	stored, noRoom map[string]waiting
}

// change is one key of the ConfigMap. An empty text takes it out.
type change struct {
	name, text string
	// more is how many bytes the ConfigMap grows by.
	more int
}

// merge puts what waits into data. What is shorter goes first, so that it makes
// room. Nothing that is stored is taken out for what does not fit.
func (m *Store) merge(data map[string]string) writing {
	m.mu.RLock()
	defer m.mu.RUnlock()
	w := writing{data: maps.Clone(data), stored: map[string]waiting{}, noRoom: map[string]waiting{}}
	if w.data == nil {
		w.data = map[string]string{}
	}
	total := size(w.data)
	for _, c := range m.changes(w) {
		if c.more > 0 && total+c.more > mostBytes {
			w.noRoom[c.name] = m.waiting[c.name]
			continue
		}
		w.stored[c.name] = m.waiting[c.name]
		total += c.more
		w.apply(c)
	}
	return w
}

// changes are those that wait, the shortest first. What others have made from a
// newer Node is left as it is.
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

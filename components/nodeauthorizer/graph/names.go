// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

// names gives strings small numbers. A string keeps its number for as long as
// somebody holds it; afterwards the number is given to another string.
type names struct {
	numbers map[string]uint32
	entries []nameEntry
	free    []uint32
}

type nameEntry struct {
	name    string
	holders uint32
	// registered, of a node's name, says that it has a Node object.
	registered bool
}

func newNames() names {
	return names{numbers: map[string]uint32{}}
}

func (n *names) find(name string) (uint32, bool) {
	number, ok := n.numbers[name]
	return number, ok
}

// acquire finds or makes the number of a string and holds it.
func (n *names) acquire(name string) uint32 {
	number, ok := n.numbers[name]
	if !ok {
		number = n.unused()
		n.entries[number].name = name
		n.numbers[name] = number
	}
	n.entries[number].holders++
	return number
}

func (n *names) unused() uint32 {
	if last := len(n.free) - 1; last >= 0 {
		number := n.free[last]
		n.free = n.free[:last]
		return number
	}
	n.entries = append(n.entries, nameEntry{})
	return uint32(len(n.entries) - 1) //nolint:gosec // a cluster has fewer than 2^32 names
}

// hold is acquire for a number that is held already.
func (n *names) hold(number uint32) {
	n.entries[number].holders++
}

// release takes back one acquire or hold.
func (n *names) release(number uint32) {
	entry := &n.entries[number]
	entry.holders--
	if entry.holders > 0 {
		return
	}
	delete(n.numbers, entry.name)
	*entry = nameEntry{}
	n.free = append(n.free, number)
}

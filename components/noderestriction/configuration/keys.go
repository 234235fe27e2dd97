// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"slices"
	"strings"
)

// Keys is a set of keys, and of beginnings of keys. It is safe for concurrent use.
// A nil set is empty.
type Keys struct {
	exact map[string]struct{}
	// beginnings are sorted, and none of them is the beginning of another one.
	beginnings []string
	// reserved keys are in the set only by an entry that names them.
	reserved reservation
	// naming are those beginnings that do.
	naming []string
}

// reservation takes keys out of what a * covers.
type reservation struct {
	// holds is true for a key that is reserved; nil reserves none.
	holds func(key string) bool
	// named is true for the beginning of an entry that means reserved keys.
	named func(beginning string) bool
}

// NewKeys makes a set of entries that are known to be good: a key, the beginning
// of keys and a *, or a * alone for all keys.
func NewKeys(entries ...string) *Keys { return newKeys(entries, reservation{}) }

func newKeys(entries []string, reserved reservation) *Keys {
	k := &Keys{exact: map[string]struct{}{}, reserved: reserved}
	for _, entry := range entries {
		beginning, open := strings.CutSuffix(entry, "*")
		if !open {
			k.exact[entry] = struct{}{}
			continue
		}
		k.beginnings = append(k.beginnings, beginning)
		if reserved.named != nil && reserved.named(beginning) {
			k.naming = append(k.naming, beginning)
		}
	}
	k.beginnings, k.naming = shortest(k.beginnings), shortest(k.naming)
	return k
}

// shortest sorts beginnings and leaves out those that another one covers.
func shortest(beginnings []string) []string {
	slices.Sort(beginnings)
	var kept []string
	for _, b := range beginnings {
		if len(kept) == 0 || !strings.HasPrefix(b, kept[len(kept)-1]) {
			kept = append(kept, b)
		}
	}
	return kept
}

// Has is true for a key in the set.
func (k *Keys) Has(key string) bool {
	if k == nil {
		return false
	}
	if _, found := k.exact[key]; found {
		return true
	}
	if k.reserved.holds != nil && k.reserved.holds(key) {
		return covers(k.naming, key)
	}
	return covers(k.beginnings, key)
}

// Names is true for a key that has an entry of its own, without a *.
func (k *Keys) Names(key string) bool {
	if k == nil {
		return false
	}
	_, found := k.exact[key]
	return found
}

// covers finds whether key has one of the beginnings. What lies between a
// beginning of key and key, in their order, begins like that as well; so the last
// one that is not after key is the only one that can be it.
func covers(beginnings []string, key string) bool {
	after, exact := slices.BinarySearch(beginnings, key)
	return exact || after > 0 && strings.HasPrefix(key, beginnings[after-1])
}

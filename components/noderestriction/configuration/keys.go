// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"slices"
	"strings"
)

// Keys is a set of keys and prefixes of keys. It is safe for concurrent use. A nil set is empty.
type Keys struct {
	exact map[string]struct{}
	// beginnings are sorted prefixes. No prefix begins with another one.
	beginnings []string
	// reserved keys are in the set only if an entry names them explicitly.
	reserved reservation
	// naming are the prefixes that name reserved keys explicitly.
	naming []string
}

// reservation defines keys that a general prefix with "*" does not include.
type reservation struct {
	// matches reports whether a key is reserved. If it is nil, no key is reserved.
	matches func(key string) bool
	// named reports whether an entry with this prefix names reserved keys explicitly.
	named func(beginning string) bool
}

// NewKeys returns a set of valid entries. An entry is a key, a prefix of keys followed by "*", or a
// single "*" for all keys. NewKeys does not check the entries.
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

// shortest sorts prefixes and removes those that begin with another prefix.
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

// Has reports whether the key is in the set.
func (k *Keys) Has(key string) bool {
	if k == nil {
		return false
	}
	if _, found := k.exact[key]; found {
		return true
	}
	if k.reserved.matches != nil && k.reserved.matches(key) {
		return covers(k.naming, key)
	}
	return covers(k.beginnings, key)
}

// Names reports whether the set has an entry for exactly this key, without "*".
func (k *Keys) Names(key string) bool {
	if k == nil {
		return false
	}
	_, found := k.exact[key]
	return found
}

// covers reports whether key begins with one of the sorted prefixes. Every string that sorts
// between a prefix and the key also begins with that prefix, and no prefix begins with another one.
// So only the last prefix that does not sort after key can match.
func covers(beginnings []string, key string) bool {
	after, exact := slices.BinarySearch(beginnings, key)
	return exact || after > 0 && strings.HasPrefix(key, beginnings[after-1])
}

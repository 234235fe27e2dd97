// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Counts says how often each thing happened.
type Counts map[string]int

func (c Counts) merge(other Counts) {
	for name, n := range other {
		c[name] += n
	}
}

// String is a table, sorted by name.
func (c Counts) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%12d %s\n", c[name], name)
	}
	return b.String()
}

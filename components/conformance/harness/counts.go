// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Counts contains the number of occurrences of each case.
type Counts map[string]int

func (c Counts) merge(other Counts) {
	for name, n := range other {
		c[name] += n
	}
}

// String returns a table, sorted by name.
func (c Counts) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%12d %s\n", c[name], name)
	}
	return b.String()
}

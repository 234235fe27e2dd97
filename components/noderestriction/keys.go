// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"slices"
	"strings"
)

// shownKeys is how many keys a refusal names: a node may send 100,000.
const shownKeys = 10

// someOf names keys for a refusal, in order, and only so many.
func someOf(keys []string) string {
	slices.Sort(keys)
	if more := len(keys) - shownKeys; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:shownKeys], ", "), more)
	}
	return strings.Join(keys, ", ")
}

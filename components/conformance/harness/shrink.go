// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"iter"
	"slices"
)

// Shrink removes parts of a failing example as long as it still fails. smaller returns smaller
// examples, the smallest first. Shrink ends when none of them fails.
func Shrink[E any](example E, smaller func(E) iter.Seq[E], fails func(E) bool) E {
	for found := true; found; {
		found = false
		for less := range smaller(example) {
			if fails(less) {
				example, found = less, true
				break
			}
		}
	}
	return example
}

// WithoutParts returns slices without a part: first without all elements, then without each half,
// each quarter, and at last without each single element.
func WithoutParts[T any](all []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for size := len(all); size > 0; size /= 2 {
			for from := len(all) - size; from >= 0; from -= size {
				if !yield(slices.Delete(slices.Clone(all), from, from+size)) {
					return
				}
			}
		}
	}
}

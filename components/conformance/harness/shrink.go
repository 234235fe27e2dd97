// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"iter"
	"slices"
)

// Shrink removes from a failing example whatever it can lose and still fail. smaller
// yields examples that lack something, those that lack most first. It ends when none of
// them fails.
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

// WithoutParts yields a slice without a part of it: first without all of it, then without
// each half, each quarter, and last without each element.
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

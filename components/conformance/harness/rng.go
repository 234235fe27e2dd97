// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"math/rand/v2"
	"testing"
)

// RNG is the only source of randomness of a generator. The same seed, or the same bytes of a
// fuzzer, always produce the same test. It is not safe for concurrent use.
type RNG struct {
	draw func(n int) int
}

// Seeded returns an RNG for a seed.
func Seeded(seed uint64) RNG {
	return RNG{rand.New(rand.NewPCG(seed, 0)).IntN} //nolint:gosec // a test must be repeatable, not unpredictable
}

// FromBytes returns an RNG that reads its numbers from bytes, and returns 0 after the last byte. So
// a fuzzer can change one choice by changing one byte.
func FromBytes(bytes []byte) RNG {
	return RNG{func(n int) int {
		number := 0
		for limit := 1; limit < n && len(bytes) > 0; limit <<= 8 {
			number, bytes = number<<8|int(bytes[0]), bytes[1:]
		}
		return number % n
	}}
}

// IntN returns a number in [0, n).
func (r RNG) IntN(n int) int { return r.draw(n) }

// OneIn returns true once in n times.
func (r RNG) OneIn(n int) bool { return r.draw(n) == n-1 }

// Pick returns a random element of a slice.
func Pick[T any](r RNG, from []T) T { return from[r.draw(len(from))] }

// AddSeeds gives a fuzz target its first inputs: random bytes of several lengths.
func AddSeeds(f *testing.F) {
	for seed := range uint64(32) {
		r := Seeded(seed)
		bytes := make([]byte, 64<<(seed%6))
		for i := range bytes {
			bytes[i] = byte(r.IntN(256)) //nolint:gosec // below 256
		}
		f.Add(bytes)
	}
}

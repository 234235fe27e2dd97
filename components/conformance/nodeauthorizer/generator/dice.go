// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package world

import "math/rand/v2"

// Dice is where everything random comes from.
type Dice struct {
	draw func(n int) int
}

// Seeded makes dice that always fall the same way for a seed.
func Seeded(seed uint64) Dice {
	return Dice{rand.New(rand.NewPCG(seed, 0)).IntN} //nolint:gosec // a test has to be repeatable, not unpredictable
}

// FromBytes makes dice that fall as the bytes say, and always show 0 once they
// are used up, so that a fuzzer can change one decision by changing one byte.
func FromBytes(bytes []byte) Dice {
	return Dice{func(n int) int {
		number := 0
		for limit := 1; limit < n && len(bytes) > 0; limit <<= 8 {
			number, bytes = number<<8|int(bytes[0]), bytes[1:]
		}
		return number % n
	}}
}

// IntN is a number from 0 to below n.
func (d Dice) IntN(n int) int { return d.draw(n) }

// OneIn is true once in n times.
func (d Dice) OneIn(n int) bool { return d.draw(n) == n-1 }

func pick[T any](d Dice, pool []T) T { return pool[d.draw(len(pool))] }

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sides

import "time"

// Latency is what every review takes at the stand-in for kube-apiserver.
const Latency = 5 * time.Millisecond

// Plan says how long to measure.
type Plan struct {
	// Root is the checkout.
	Root string
	// Runs is how often each side has its turn.
	Runs int
	// Turn is how long one turn of one case takes.
	Turn time.Duration
	// Bytes are carried in one turn where the rate is not bounded.
	Bytes int64
	// Counted is how many requests allocations are counted over.
	Counted int
	// Streams are held open at one time.
	Streams int
	// Say tells whoever waits what is being measured.
	Say func(format string, args ...any)
}

// Full is for results that are published.
func Full(root string, say func(string, ...any)) Plan {
	return Plan{Root: root, Runs: 7, Turn: 1200 * time.Millisecond, Bytes: 512 << 20, Counted: 2000, Streams: 1000, Say: say}
}

// Quick is for a look.
func Quick(root string, say func(string, ...any)) Plan {
	return Plan{Root: root, Runs: 5, Turn: 200 * time.Millisecond, Bytes: 64 << 20, Counted: 2000, Streams: 1000, Say: say}
}

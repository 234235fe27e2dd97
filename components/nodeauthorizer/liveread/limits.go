// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package liveread

import (
	"time"

	"golang.org/x/time/rate"
)

// Limits are the budgets; none of them may be zero. The documentation of the
// package says how they are shared.
type Limits struct {
	// ListInterval is the least time from the beginning of one list of a node's pods
	// to that of the next.
	ListInterval time.Duration
	// Gets and GetBurst are the reads by name that a node may have begin in a
	// second, and at once.
	Gets     rate.Limit
	GetBurst int
	// Reads, ReadBurst and InFlight are the reads of all nodes: those that begin in
	// a second, at once, and those in the air.
	Reads     rate.Limit
	ReadBurst int
	InFlight  int
	// Strangers bounds those of InFlight, and those who wait for them, that are about
	// Node objects which the view does not have.
	Strangers int
	// Waiting bounds the callers of one node, and WaitingForGets those of them who
	// wait for a read by name.
	Waiting, WaitingForGets int
	// Patience is how long a caller waits, and ReadTimeout how long a read may take.
	Patience, ReadTimeout time.Duration
	// Hold is how long a question that was answered with nothing new is not asked
	// again, from when the read began. Held bounds the questions of which that is
	// kept.
	Hold time.Duration
	Held int
}

// DefaultLimits suit a cluster of 5,000 nodes: kubelets are right nearly always,
// so reads are few, and they are there for the moments when the watch is late.
func DefaultLimits() Limits {
	return Limits{
		ListInterval: 50 * time.Millisecond,
		Gets:         20, GetBurst: 40,
		Reads: 200, ReadBurst: 400, InFlight: 32,
		Strangers: 8,
		Waiting:   100, WaitingForGets: 50,
		Patience: time.Second, ReadTimeout: 900 * time.Millisecond,
		Hold: 250 * time.Millisecond, Held: 10_000,
	}
}

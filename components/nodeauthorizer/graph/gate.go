// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"sync"
	"unsafe"
)

// gate is a lock for many readers on many cores. A sync.RWMutex counts its readers in
// one word, and the cores hand that word to each other for every question: with two
// cores that takes as long as the rest of a decision, and longer with more. Here a
// reader locks one part of several, and a writer all of them, in their order. Readers
// outnumber writers a hundred to one, and a writer does more.
//
// Its promises are those of sync.RWMutex, with one more restriction: who reads gives
// back the part that he was given.
type gate struct {
	parts [gateParts]gatePart
}

// gateParts are so many that two cores seldom take the same, and so few that a writer
// takes a fraction of a microsecond for all.
const gateParts = 8

// gatePart fills two cache lines, because processors fetch them in pairs.
type gatePart struct {
	sync.RWMutex
	_ [128 - unsafe.Sizeof(sync.RWMutex{})]byte
}

// Lock waits until nobody reads or writes, and keeps everybody out until Unlock.
func (g *gate) Lock() {
	for i := range g.parts {
		g.parts[i].Lock()
	}
}

// Unlock takes back a Lock.
func (g *gate) Unlock() {
	for i := range g.parts {
		g.parts[i].Unlock()
	}
}

// RLock waits until nobody writes, and keeps writers out until the part that it returns
// is unlocked by its RUnlock.
func (g *gate) RLock() *gatePart {
	part := &g.parts[place()%gateParts]
	part.RLock()
	return part
}

// place is a number that goroutines which run at the same time mostly do not share, and
// that one goroutine mostly keeps: where its stack is. Nothing but the time that it takes
// to get a lock depends on it.
func place() uintptr {
	var here byte
	at := uintptr(unsafe.Pointer(&here)) //nolint:gosec // only looked at as a number
	// Stacks begin at multiples of their sizes, which are powers of two from 2 KiB on.
	return at>>11 ^ at>>15 ^ at>>19
}

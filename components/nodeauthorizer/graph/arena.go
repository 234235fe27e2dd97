// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

// chunkSize is how many records of an arena are allocated at once.
const chunkSize = 1024

// arena stores records by number, starting at 1. The number 0 means no record. Records never move,
// so an arena that grows copies nothing. The memory of a dropped record is reused.
type arena[T any] struct {
	chunks []*[chunkSize]T
	// end is the lowest number that was never used.
	end  uint32
	free []uint32
}

func newArena[T any]() arena[T] {
	return arena[T]{end: 1, chunks: []*[chunkSize]T{new([chunkSize]T)}}
}

func (s *arena[T]) at(number uint32) *T {
	return &s.chunks[number/chunkSize][number%chunkSize]
}

// put stores a record and returns its number.
func (s *arena[T]) put(record T) uint32 {
	number := s.unused()
	*s.at(number) = record
	return number
}

func (s *arena[T]) unused() uint32 {
	if last := len(s.free) - 1; last >= 0 {
		number := s.free[last]
		s.free = s.free[:last]
		return number
	}
	if int(s.end) == len(s.chunks)*chunkSize {
		s.chunks = append(s.chunks, new([chunkSize]T))
	}
	s.end++
	return s.end - 1
}

func (s *arena[T]) drop(number uint32) {
	var none T
	*s.at(number) = none
	s.free = append(s.free, number)
}

// len returns the number of stored records.
func (s *arena[T]) len() int {
	return int(s.end) - 1 - len(s.free)
}

// index finds the numbers of objects by the hash of their key. It stores no keys, because the
// objects contain them. A Go map would store a second copy of the keys, which takes as much memory
// as everything else together.
//
// It is an open-addressing hash table with linear probing, in shards. When one shard grows, readers
// wait only a few microseconds, not for a copy of the whole table.
type index struct {
	shards [shardCount]shard
}

const (
	shardCount = 256
	minSlots   = 8
)

type shard struct {
	// The length of slots is a power of two. At most three quarters of them are used.
	slots []slot
	live  int
}

// slot is empty if its id is 0.
type slot struct {
	hash uint32
	id   objectID
}

// split returns the shard and the hash within it. The two use different bits, so they are
// independent of each other.
func (x *index) split(hash uint64) (*shard, uint32) {
	return &x.shards[hash%shardCount], uint32(hash >> 32)
}

// search returns the slots and the start position for a hash. The search ends at the next empty
// slot and wraps from the last slot to the first. The caller has the loop, because a function call
// for each slot would take longer than the comparison.
func (x *index) search(hash uint64) (slots []slot, from uint32) {
	s, short := x.split(hash)
	return s.slots, short
}

// add inserts a number that is not in the index.
func (x *index) add(hash uint64, id objectID) {
	s, short := x.split(hash)
	if (s.live+1)*4 > len(s.slots)*3 {
		s.resize(max(minSlots, len(s.slots)*2))
	}
	s.place(slot{short, id})
	s.live++
}

// remove deletes a number that is in the index.
func (x *index) remove(hash uint64, id objectID) {
	s, short := x.split(hash)
	at := s.home(short)
	for s.slots[at].id != id {
		at = s.after(at)
	}
	s.vacate(at)
	s.live--
	switch {
	case s.live == 0:
		s.slots = nil
	case s.live*8 < len(s.slots) && len(s.slots) > minSlots:
		s.resize(len(s.slots) / 2)
	}
}

func (s *shard) home(hash uint32) int { return int(hash) & (len(s.slots) - 1) }
func (s *shard) after(at int) int     { return (at + 1) & (len(s.slots) - 1) }

func (s *shard) place(new slot) {
	at := s.home(new.hash)
	for s.slots[at].id != 0 {
		at = s.after(at)
	}
	s.slots[at] = new
}

// vacate empties a slot. It moves later slots into the gap if a search would no longer find them.
// So the table needs no markers for deleted slots.
func (s *shard) vacate(gap int) {
	mask := len(s.slots) - 1
	for at := s.after(gap); s.slots[at].id != 0; at = s.after(at) {
		fromHome := (at - s.home(s.slots[at].hash)) & mask
		fromGap := (at - gap) & mask
		if fromHome >= fromGap {
			s.slots[gap] = s.slots[at]
			gap = at
		}
	}
	s.slots[gap] = slot{}
}

func (s *shard) resize(size int) {
	old := s.slots
	s.slots = make([]slot, size)
	for _, slot := range old {
		if slot.id != 0 {
			s.place(slot)
		}
	}
}

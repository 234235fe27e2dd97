// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

// chunkSize is how many records of a slab are allocated at once.
const chunkSize = 1024

// slab stores records by number, from 1: 0 is no record. Records never move, and
// a slab that grows copies none. The room of a dropped record is used again.
type slab[T any] struct {
	chunks []*[chunkSize]T
	// end is the first number that was never used.
	end  uint32
	free []uint32
}

func newSlab[T any]() slab[T] {
	return slab[T]{end: 1, chunks: []*[chunkSize]T{new([chunkSize]T)}}
}

func (s *slab[T]) at(number uint32) *T {
	return &s.chunks[number/chunkSize][number%chunkSize]
}

// put stores a record and tells its number.
func (s *slab[T]) put(record T) uint32 {
	number := s.unused()
	*s.at(number) = record
	return number
}

func (s *slab[T]) unused() uint32 {
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

func (s *slab[T]) drop(number uint32) {
	var none T
	*s.at(number) = none
	s.free = append(s.free, number)
}

// len counts the records that are stored.
func (s *slab[T]) len() int {
	return int(s.end) - 1 - len(s.free)
}

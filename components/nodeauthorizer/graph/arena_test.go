// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "testing"

func TestArenaAllocatesAChunkOnlyWhenOneIsFull(t *testing.T) {
	s := newArena[int]()
	for i := range 2*chunkSize - 1 { // the number 0 stays unused
		if got := *s.at(s.put(i)); got != i {
			t.Fatalf("record %d is %d", i, got)
		}
	}
	if s.len() != 2*chunkSize-1 || len(s.chunks) != 2 {
		t.Errorf("%d records in %d chunks", s.len(), len(s.chunks))
	}
	s.drop(1)
	if number := s.put(7); number != 1 || len(s.chunks) != 2 {
		t.Errorf("the new record has number %d, and there are %d chunks", number, len(s.chunks))
	}
}

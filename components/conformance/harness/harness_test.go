// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"slices"
	"testing"
)

func TestCellNamesSeveralRules(t *testing.T) {
	got := idsIn(" NA-CM-1, 2, NA-PASS-1 … 5, NA-DEFAULT ")
	want := []string{
		"NA-CM-1",
		"NA-CM-2",
		"NA-PASS-1",
		"NA-PASS-2",
		"NA-PASS-3",
		"NA-PASS-4",
		"NA-PASS-5",
		"NA-DEFAULT",
	}
	if !slices.Equal(got, want) {
		t.Errorf("idsIn = %v, want %v", got, want)
	}
}

func TestShrinkKeepsOnlyFailingInput(t *testing.T) {
	fails := func(all []int) bool { return slices.Contains(all, 3) && slices.Contains(all, 40) }
	var all []int
	for i := range 100 {
		all = append(all, i)
	}
	if got := Shrink(all, WithoutParts, fails); !slices.Equal(got, []int{3, 40}) {
		t.Errorf("Shrink = %v, want [3 40]", got)
	}
}

func TestSameSeedGivesSameNumbers(t *testing.T) {
	a, b := Seeded(7), Seeded(7)
	for range 100 {
		if x, y := a.IntN(1000), b.IntN(1000); x != y {
			t.Fatalf("%d and %d", x, y)
		}
	}
}

func TestBytesChooseNumbers(t *testing.T) {
	r := FromBytes([]byte{5, 1, 2})
	if got := []int{r.IntN(10), r.IntN(1000), r.IntN(10)}; !slices.Equal(got, []int{5, 258, 0}) {
		t.Errorf("%v", got)
	}
}

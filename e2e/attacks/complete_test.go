// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// attacks is the number of attacks in the catalogue: T1 to T25.
const attacks = 25

// TestEveryAttackHasAStory fails while an attack lacks a story, or a story lacks an attempt, a twin or
// an unprotected success.
func TestEveryAttackHasAStory(t *testing.T) {
	for n := 1; n <= attacks; n++ {
		id := fmt.Sprintf("T%d", n)
		at := slices.IndexFunc(stories, func(s Story) bool { return s.ID == id })
		if at < 0 {
			t.Errorf("%s has no story", id)
			continue
		}
		for _, what := range stories[at].missing() {
			t.Errorf("%s lacks %s", id, what)
		}
		for _, a := range stories[at].Attempts {
			if _, ok := rule(a.Rule); !ok {
				t.Errorf("%s: %s is not a rule", id, a.Rule)
			}
		}
		for _, file := range append(stories[at].Also, "e2e/attacks/"+stories[at].file()) {
			if _, err := os.Stat("../../" + file); err != nil {
				t.Errorf("%s names a file that does not exist: %v", id, err)
			}
		}
	}
}

// sorted returns the stories in the order of their numbers.
func sorted() []Story {
	number := func(s Story) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(s.ID, "T"))
		return n
	}
	return slices.SortedFunc(slices.Values(stories), func(a, b Story) int { return cmp.Compare(number(a), number(b)) })
}

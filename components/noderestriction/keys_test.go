// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import "testing"

func TestSomeOf(t *testing.T) {
	for _, tc := range []struct {
		keys []string
		want string
	}{
		{nil, ""},
		{[]string{"b", "a"}, "a, b"},
		{[]string{"j", "i", "h", "g", "f", "e", "d", "c", "b", "a"}, "a, b, c, d, e, f, g, h, i, j"},
		{[]string{"k", "j", "i", "h", "g", "f", "e", "d", "c", "b", "a"}, "a, b, c, d, e, f, g, h, i, j and 1 more"},
	} {
		if got := someOf(tc.keys); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

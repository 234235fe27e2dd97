// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestCounts(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(*counts)
		want counts
	}{
		{"nothing is nothing", func(*counts) {}, counts{}},
		{"one node takes no map", func(c *counts) { c.add(7); c.add(7) }, counts{node: 7, n: 2}},
		{"two nodes take one", func(c *counts) { c.add(7); c.add(8); c.add(8) }, counts{many: map[uint32]uint32{7: 1, 8: 2}}},
		{"taking back once leaves the rest", func(c *counts) { c.add(7); c.add(7); c.remove(7) }, counts{node: 7, n: 1}},
		{"one node is left without a map", func(c *counts) { c.add(7); c.add(8); c.add(8); c.remove(7) }, counts{node: 8, n: 2}},
		{"nothing is left", func(c *counts) { c.add(7); c.add(8); c.remove(7); c.remove(8) }, counts{node: 8}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got counts
			row.do(&got)
			if diff := gocmp.Diff(row.want, got, gocmp.AllowUnexported(counts{})); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

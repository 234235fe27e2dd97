// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"
	"time"
)

// TestCases holds that both sides give the answer that a case says, and that all of
// it can be measured and printed. How fast they are depends on what else the machine
// does, so nothing here asks for that.
func TestCases(t *testing.T) {
	timed, err := Prepare(Cases())
	if err != nil {
		t.Fatal(err)
	}
	measured := Measure(timed, 1, time.Microsecond)
	for _, row := range measured {
		if row.TooMany() {
			t.Errorf("%s, %s: %v allocations, of which %v besides", row.Family, row.Name, row.Ours.Allocations, row.Besides)
		}
	}
	if got := len(tableOf(measured).Rows); got != len(timed) {
		t.Errorf("the table has %d rows, want %d", got, len(timed))
	}
	if rows := summaryOf(measured); rows[0].Bar != 1 || rows[len(rows)-1].Bar != most {
		t.Errorf("the summary is %+v", rows)
	}
}

func BenchmarkWrites(b *testing.B) {
	timed, err := Prepare(Cases())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range timed {
		for side, answer := range map[string]func() bool{"ours": c.Ours, "upstream": c.Upstream} {
			b.Run(c.Family+"/"+c.Name+"/"+side, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					answer()
				}
			})
		}
	}
}

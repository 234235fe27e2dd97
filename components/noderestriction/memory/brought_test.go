// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// pool is n taints of keys that begin alike, from the first on.
func pool(first, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("pool/x%03d:NoSchedule", first+i))
	}
	return strings.Join(all, " ")
}

// TestANodeCannotUseUpItsMemory: it comes again and again, with other taints each
// time, and then an administrator marks it.
func TestANodeCannotUseUpItsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised", "pool/*")
		m, _ := w.start()
		for life := range 6 {
			w.register("n", fmt.Sprint("life", life), pool(0, 16)+" "+pool(100*(life+1), 16))
			w.remove("n")
		}
		w.register("n", "last", pool(0, 16)+" "+pool(900, 16))
		w.expect(m, "of its own, the first are remembered", "n", pool(0, 16), "")
		w.taint("n", pool(0, 16)+" "+pool(900, 16)+" "+bad+" "+pool(2000, 47))
		w.expect(m, "what others put on it", "n", pool(0, 16)+" "+bad+" "+pool(2000, 47), "")
		w.expectStored("what others put on it", "n", pool(0, 16)+" "+bad+" "+pool(2000, 47))
		w.remove("n")
		w.register("n", "after", pool(3000, 200))
		all := pool(0, 16) + " " + bad + " " + pool(2000, 47)
		w.expect(m, "it comes back with others, and without all of those", "n", all, all)
	})
}

// TestWhatIsRememberedIsNotDisplaced by another value, whoever chose it.
func TestWhatIsRememberedIsNotDisplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		m, stop := w.start()
		w.register("n", "1", "")
		w.taint("n", bad)
		w.remove("n")
		w.register("n", "2", "compromised=no:NoSchedule compromised=no:PreferNoSchedule")
		w.expect(m, "another value of its own", "n", "compromised=no:PreferNoSchedule "+bad, bad)
		w.stored()
		stop()
		again, _ := w.start()
		w.expect(again, "after a restart", "n", "compromised=no:PreferNoSchedule "+bad, bad)
	})
}

// TestWhatANodeHasComeWithIsTold, so that a registration can be held to it.
func TestWhatANodeHasComeWithIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised", "dedicated", "pool/*")
		m, stop := w.start()
		brought := func(m *Memory, when, want string) {
			t.Helper()
			synctest.Wait()
			got, err := m.Remembered(context.Background(), "n")
			if text := strings.Join(spell(got.Brought), " "); text != want || err != nil {
				t.Errorf("%s: brought %q, %v; want %q", when, text, err, want)
			}
		}
		w.register("n", "1", pii+" "+pool(0, 2))
		brought(m, "registered", pii+" "+pool(0, 2))
		w.taint("n", pii+" "+pool(0, 2)+" "+bad)
		brought(m, "others put one on it", pii+" "+pool(0, 2))
		w.taint("n", "dedicated=other:NoExecute "+pool(0, 2)+" "+bad)
		brought(m, "others changed one", pool(0, 2))
		w.stored()
		stop()
		w.taint("n", "dedicated=other:NoExecute "+pool(0, 3)+" "+bad)
		m, _ = w.start()
		brought(m, "others put one on it while nobody watched", pool(0, 2))
		w.expect(m, "all of it", "n", "dedicated=other:NoExecute "+pool(0, 2)+" "+bad+" "+pool(2, 1), "")
		if _, err := Clear(context.Background(), w.client, "n", "pool/x000"); err != nil {
			t.Fatal(err)
		}
		w.taint("n", bad)
		brought(m, "others removed the rest", "")
	})
}

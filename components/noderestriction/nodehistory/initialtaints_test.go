// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2/textlogger"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// TestUnrecordedTaintsStayTheNodesOwn: a node was registered with more taints than are recorded, before
// they were sticky. A later instance that reads the record must not treat the rest as taints of
// other clients. Otherwise no place would be left for those.
func TestUnrecordedTaintsStayTheNodesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		m, stop := w.start()
		w.register("n", "1", pool(0, 70))
		w.mark("compromised", "pool/*")
		w.pass()
		w.expect(m, "once it is sticky", "n", pool(0, 16), "")
		w.stored()
		second, stopSecond := w.start()
		w.expect(second, "in a second instance", "n", pool(0, 16), "")
		stop()
		stopSecond()
		w.taint("n", pool(0, 70)+" unmarked:NoSchedule")
		again, _ := w.start()
		w.expect(again, "after a restart", "n", pool(0, 16), "")
		w.taint("n", pool(0, 70)+" "+bad)
		w.expect(again, "others mark it", "n", pool(0, 16)+" "+bad, "")
		w.expectStored("others mark it", "n", pool(0, 16)+" "+bad)
	})
}

// TestLaterStickyTaintsAreUnknownInOldRecords: a record of a Node says nothing about taints that were not
// sticky when the record was made.
func TestLaterStickyTaintsAreUnknownInOldRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised", "dedicated")
		_, stop := w.start()
		w.register("n", "1", pii+" "+pool(0, 70))
		w.stored()
		stop()
		again, _ := w.start()
		w.mark("compromised", "dedicated", "pool/*")
		w.pass()
		w.expect(again, "once it is sticky", "n", pii+" "+pool(0, 15), "")
		w.taint("n", pii+" "+pool(0, 70)+" "+bad)
		w.expect(again, "others mark it", "n", pii+" "+pool(0, 15)+" "+bad, "")
	})
}

func TestUnrecordedTaintsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewKubeRegistry()
		w := newWorld(t, "pool/*")
		w.startWith(registry)
		w.register("n", "1", pool(0, 16))
		w.expectMetrics(registry, map[string]float64{"crowded": 0})
		w.taint("n", pool(0, 64))
		w.expectMetrics(registry, map[string]float64{"crowded": 0})
		w.taint("n", pool(0, 65))
		w.expectMetrics(registry, map[string]float64{"crowded": 1})
		w.register("own", "1", pool(0, 17))
		w.expectMetrics(registry, map[string]float64{"crowded": 2})
		w.remove("own")
		w.expectMetrics(registry, map[string]float64{"crowded": 1})
		w.taint("n", pool(0, 64))
		w.expectMetrics(registry, map[string]float64{"crowded": 0})
	})
}

// TestUnrecordedTaintsAreLoggedOnce checks that the log has one line per node, however often the node
// registers.
func TestUnrecordedTaintsAreLoggedOnce(t *testing.T) {
	var log strings.Builder
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))
	m := New(Config{Client: fake.NewClientset(), Configuration: func() *configuration.Configuration { return nil }})
	m.isRead, m.sticky = true, configuration.NewKeys("pool/*")
	come := func(uid string, taints int) {
		m.nodes.set(newNode("n", uid, pool(0, taints)), nobody)
		m.observe(logger, "n")
	}
	come("1", 16)
	if log.Len() > 0 {
		t.Errorf("all of it has a place: %s", &log)
	}
	for _, uid := range []string{"2", "2", "3"} {
		m.nodes.remove("n")
		come(uid, 40)
	}
	text := log.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, `node="n" dropped=24 first="pool/x016:NoSchedule"`) {
		t.Errorf("logged: %s", text)
	}
}

// pool returns n taints whose keys have a common prefix. Their numbers begin at first.
func pool(first, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("pool/x%03d:NoSchedule", first+i))
	}
	return strings.Join(all, " ")
}

// TestANodeCannotUseUpItsMemory: a node registers again and again, with other taints each time.
// Then an administrator adds a taint.
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

// TestRecordedTaintsAreNotReplaced checks that a recorded taint is not replaced by one with
// another value.
func TestRecordedTaintsAreNotReplaced(t *testing.T) {
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

// TestInitialTaints checks InitialTaints, which rules need to limit a registration.
func TestInitialTaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised", "dedicated", "pool/*")
		m, stop := w.start()
		initial := func(m *Store, when, want string) {
			t.Helper()
			synctest.Wait()
			got, err := m.History(context.Background(), "n")
			if text := strings.Join(spell(got.InitialTaints), " "); text != want || err != nil {
				t.Errorf("%s: initial %q, %v; want %q", when, text, err, want)
			}
		}
		w.register("n", "1", pii+" "+pool(0, 2))
		initial(m, "registered", pii+" "+pool(0, 2))
		w.taint("n", pii+" "+pool(0, 2)+" "+bad)
		initial(m, "others put one on it", pii+" "+pool(0, 2))
		w.taint("n", "dedicated=other:NoExecute "+pool(0, 2)+" "+bad)
		initial(m, "others changed one", pool(0, 2))
		w.stored()
		stop()
		w.taint("n", "dedicated=other:NoExecute "+pool(0, 3)+" "+bad)
		m, _ = w.start()
		initial(m, "others put one on it while nobody watched", pool(0, 2))
		w.expect(m, "all of it", "n", "dedicated=other:NoExecute "+pool(0, 2)+" "+bad+" "+pool(2, 1), "")
		if _, err := Clear(context.Background(), w.client, "n", "pool/x000"); err != nil {
			t.Fatal(err)
		}
		w.taint("n", bad)
		initial(m, "others removed the rest", "")
	})
}

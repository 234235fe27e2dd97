// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

// TestInstancesShareRecords lets each instance write only some of the records.
func TestInstancesShareRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		a, _ := w.start()
		b, stopB := w.start()
		names := []string{"n1", "n2", "n3", "n4", "n5"}
		for _, name := range names {
			w.register(name, "1", bad)
		}
		w.pass()
		stopB()
		for _, name := range names {
			w.expect(a, "the first", name, bad, "")
			w.expectStored("both", name, bad)
		}
		w.expect(b, "the second, stopped", "n1", bad, "")
		w.remove("n1")
		if _, err := Clear(context.Background(), w.client, "n1", ""); err != nil {
			t.Fatal(err)
		}
		w.expect(a, "cleared", "n1", "", "")
		w.expect(a, "not cleared", "n2", bad, "")
	})
}

// TestConflicts lets another client write between the reads and the writes of the Store.
func TestConflicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		m, _ := w.start()
		w.register("n0", "1", bad)
		w.stored()
		conflicts := 0
		w.client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			if conflicts == 3 {
				return false, nil, nil
			}
			conflicts++
			there, err := w.client.Tracker().Get(configMaps, Namespace, Name)
			if err != nil {
				return true, nil, err
			}
			read := there.DeepCopyObject()
			theirs := there.(*corev1.ConfigMap).DeepCopy()
			theirs.Data["their"+string(rune('0'+conflicts))] = record{uid: "1", version: "50", taints: taints(bad)}.encode()
			theirs.ResourceVersion = strconv.FormatInt(w.version.Add(1), 10)
			return true, read, w.client.Tracker().Update(configMaps, theirs, Namespace)
		})
		w.register("n1", "1", bad)
		for _, name := range []string{"n0", "n1", "their1", "their2", "their3"} {
			w.expectStored("after conflicts", name, bad)
			w.expect(m, "after conflicts", name, bad, "")
		}
		for result, want := range map[string]float64{"conflict": 3, "error": 0} {
			if got, err := testutil.GetCounterMetricValue(m.writes.WithLabelValues(result)); got != want || err != nil {
				t.Errorf("%v writes ended in %s (%v), want %v", got, result, err, want)
			}
		}
	})
}

func TestWritesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewKubeRegistry()
		w := newWorld(t, "compromised")
		m, _ := w.startWith(registry)
		var failing atomic.Bool
		failing.Store(true)
		w.client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			return failing.Load(), nil, errors.New("no")
		})
		w.register("n", "1", bad)
		w.pass()
		w.remove("n")
		w.expect(m, "not stored", "n", bad, "")
		w.expectMetrics(registry, map[string]float64{"unwritten": 1, "bytes": 0})
		failing.Store(false)
		time.Sleep(time.Minute)
		w.expectStored("once it can be", "n", bad)
		w.expectMetrics(registry, map[string]float64{"unwritten": 0})
	})
}

// TestDeletedConfigMapKeepsKnownRecords: an instance still returns the known records and reports
// the error. It stores the records again when the ConfigMap exists.
func TestDeletedConfigMapKeepsKnownRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		w.register("n1", "1", bad)
		w.register("n2", "1", bad)
		m, _ := w.start()
		w.remove("n1")
		w.expectStored("at first", "n1", bad)
		w.uninstall()
		if w.stored() != nil {
			t.Error("it makes a ConfigMap, for which it has no right")
		}
		w.expect(m, "deleted", "n1", bad, "")
		if got := m.Unready(); !strings.Contains(got,
			"has no ConfigMap kube-system/bulkhead-node-restriction to be kept in: run `bulkhead install`") {
			t.Errorf("unready: %q", got)
		}
		w.install("second", nil)
		time.Sleep(time.Minute)
		w.expectStored("made again", "n1", bad)
		w.expectStored("made again", "n2", bad)
		w.expect(m, "made again", "n1", bad, "")
		if got := m.Unready(); got != "" {
			t.Errorf("unready: %q", got)
		}
	})
}

// TestRecreatedConfigMapKeepsKnownRecords: between two lists, an instance does not see the
// deletion.
func TestRecreatedConfigMapKeepsKnownRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		w.register("n", "1", bad)
		m, _ := w.start()
		w.remove("n")
		w.expectStored("at first", "n", bad)
		w.install("second", nil)
		w.expectStored("made anew", "n", bad)
		w.expect(m, "made anew", "n", bad, "")
		if _, err := Clear(context.Background(), w.client, "n", ""); err != nil {
			t.Fatal(err)
		}
		w.expectStored("cleared", "n", "")
		w.expect(m, "cleared", "n", "", "")
	})
}

// TestRecreatedConfigMapRepairsRecords: an operator replaces the ConfigMap, whose record of a deleted
// Node cannot be parsed.
func TestRecreatedConfigMapRepairsRecords(t *testing.T) {
	const broken = "{"
	good := record{uid: "1", version: "1", taints: taints(bad)}.encode()
	for _, tc := range []struct {
		name  string
		data  map[string]string
		taint string
	}{
		{"a readable record: it is used", map[string]string{"n": good}, bad},
		{"no record: the taints stay unknown", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "compromised")
				w.install("first", map[string]string{"n": broken})
				m, _ := w.start()
				w.pass()
				if _, err := m.History(context.Background(), "n"); err == nil {
					t.Error("a record that cannot be parsed says that there are no taints")
				}
				w.install("second", tc.data)
				w.expectStored("replaced", "n", tc.taint)
				if tc.taint != "" {
					w.expect(m, "replaced", "n", tc.taint, "")
				} else if _, err := m.History(context.Background(), "n"); err == nil {
					t.Error("to replace the ConfigMap clears a record")
				}
			})
		})
	}
}

// TestNoConfigMapFromTheStart: earlier records are not known, so a node must not be registered
// without its taints.
func TestNoConfigMapFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		w.uninstall()
		w.register("n", "1", bad)
		m, _ := w.start()
		const wrong = "the node history has no ConfigMap kube-system/bulkhead-node-restriction to be kept in: " +
			"run `bulkhead install` on a control-plane host, or apply manifests/node-restriction/configmap.yaml"
		if got := m.Unready(); got != wrong {
			t.Errorf("unready: %q", got)
		}
		if _, err := m.History(context.Background(), "n"); err == nil || err.Error() != wrong {
			t.Errorf("it tells of taints: %v", err)
		}
		if _, err := m.LastReported(context.Background(), "n"); err != nil {
			t.Errorf("addresses need no ConfigMap: %v", err)
		}
		unmarked := m.configuration()
		w.marked.Store(nil)
		if got := m.Unready(); got != "" {
			t.Errorf("nothing is sticky, and it is unready: %q", got)
		}
		w.marked.Store(unmarked)
		w.install("late", map[string]string{"gone": record{uid: "1", version: "1", taints: taints(bad)}.encode()})
		time.Sleep(time.Minute)
		if got := m.Unready(); got != "" {
			t.Errorf("unready: %q", got)
		}
		w.expect(m, "once it is there", "gone", bad, "")
		w.expectStored("what was seen meanwhile", "n", bad)
	})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"
)

const (
	bad    = "compromised=yes:NoSchedule"
	pii    = "dedicated=pii:NoExecute"
	unmark = "other=x:NoSchedule"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// TestATaintOutlivesItsNode: a node is quarantined, its Node is deleted, and it registers again.
func TestATaintOutlivesItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised", "dedicated")
		m, stop := w.start()
		w.register("n", "1", "")
		w.expect(m, "registered", "n", "", "")
		w.taint("n", bad+" "+unmark)
		w.expect(m, "tainted", "n", bad, "")
		w.expectStored("tainted", "n", bad)
		w.remove("n")
		w.expect(m, "deleted", "n", bad, "")
		w.register("n", "2", bad)
		w.expect(m, "registered again with it", "n", bad, "")
		w.taint("n", "")
		w.expect(m, "taint removed from the second Node", "n", "", "")
		w.expectStored("taint removed from the second Node", "n", "")
		stop()
	})
}

func TestRecreatedNodeWithoutItsStickyTaint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewKubeRegistry()
		w := newWorld(t, "compromised", "dedicated")
		w.register("n", "1", bad+" "+pii)
		m, _ := w.startWith(registry)
		w.remove("n")
		w.register("n", "2", pii)
		w.expect(m, "back without one", "n", pii+" "+bad, bad)
		w.expectStored("back without one", "n", pii+" "+bad)
		w.expectMetrics(registry, map[string]float64{"records": 1, "absent": 1, "unwritten": 0, "no_room": 0})
		w.taint("n", "")
		w.expect(m, "the one that it has is removed", "n", bad, bad)
		w.taint("n", "compromised=no:NoSchedule")
		w.expect(m, "another value is not the taint", "n", bad, bad)
		w.taint("n", bad)
		w.expect(m, "put back", "n", bad, "")
		w.taint("n", "compromised=no:NoSchedule")
		w.expect(m, "its value changed while it is there", "n", "compromised=no:NoSchedule", "")
		w.remove("n")
		w.register("n", "3", "")
		w.remove("n")
		w.register("n", "4", "")
		w.expect(m, "twice back without", "n", "compromised=no:NoSchedule", "compromised=no:NoSchedule")
	})
}

// TestRestarts: the UID shows what changed while no instance was running.
func TestRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		for _, name := range []string{"same", "removed", "gone", "back", "with"} {
			w.register(name, "1", bad)
		}
		first, stop := w.start()
		w.expect(first, "at first", "gone", bad, "")
		w.stored()
		stop()
		w.taint("removed", "")
		w.remove("gone")
		w.remove("back")
		w.register("back", "2", "")
		w.remove("with")
		w.register("with", "2", bad)
		w.register("new", "1", bad)
		second, _ := w.start()
		w.expect(second, "nothing happened", "same", bad, "")
		w.expect(second, "removed from the same Node meanwhile", "removed", "", "")
		w.expect(second, "deleted meanwhile", "gone", bad, "")
		w.expect(second, "registered again meanwhile, without", "back", bad, bad)
		w.expect(second, "registered again meanwhile, with it", "with", bad, "")
		w.expect(second, "tainted meanwhile", "new", bad, "")
		w.expectStored("removed meanwhile", "removed", "")
		w.expectStored("tainted meanwhile", "new", bad)
	})
}

func TestMarksChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.register("n", "1", bad+" "+pii)
		m, _ := w.start()
		w.expect(m, "nothing marked", "n", "", "")
		w.mark("compromised")
		w.pass()
		w.expect(m, "marked", "n", bad, "")
		w.mark("dedicated")
		w.pass()
		w.expect(m, "another one marked", "n", bad+" "+pii, "")
		w.marked.Store(nil)
		w.pass()
		w.remove("n")
		w.expect(m, "no configuration any more", "n", bad+" "+pii, "")
	})
}

// TestOfTwoRecordsTheNewerWins: an instance whose watch is behind does not overwrite a newer
// record.
func TestOfTwoRecordsTheNewerWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised", "dedicated")
		m, _ := w.start()
		w.register("n", "1", bad)
		w.stored()
		newer := record{uid: "1", version: "900", taints: taints(bad + " " + pii)}
		there, err := w.client.CoreV1().ConfigMaps(Namespace).Get(context.Background(), Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		there.Data["n"] = newer.encode()
		if _, err := w.client.CoreV1().ConfigMaps(Namespace).Update(context.Background(), there,
			metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.pass()
		w.taint("n", "") // version is about 104: older than the stored record
		w.expect(m, "an older Node", "n", bad+" "+pii, "")
		w.version.Store(1000)
		w.taint("n", bad)
		w.expect(m, "a newer Node", "n", bad, "")
		w.expectStored("a newer Node", "n", bad)
	})
}

func TestUnreadableRecordIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		w.install("spoilt", map[string]string{
			"gone": "{", "there": `{"uid":"1","taints":["?"]}`, "tainted": "",
			"fine": record{uid: "1", version: "1", taints: taints(bad)}.encode(),
		})
		w.register("there", "1", unmark)
		w.register("tainted", "1", bad)
		m, _ := w.start()
		for _, name := range []string{"gone", "there"} {
			if _, err := m.History(context.Background(), name); err == nil ||
				!strings.Contains(err.Error(), "cannot be read") {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.expect(m, "next to them", "fine", bad, "")
		w.expect(m, "what is seen takes its place", "tainted", bad, "")
	})
}

func TestUnready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		var failing atomic.Bool
		failing.Store(true)
		w.client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			return failing.Load(), nil, errors.New("no")
		})
		m, stop := w.start()
		if got := m.Unready(); got != "the node history has not yet seen all configmaps" {
			t.Errorf("unready: %q", got)
		}
		if _, err := m.History(context.Background(), "n"); err == nil {
			t.Error("it tells before it knows")
		}
		if _, err := m.AddressOwner(context.Background(), "10.0.0.1", ""); err != nil {
			t.Errorf("addresses need no ConfigMap: %v", err)
		}
		failing.Store(false)
		time.Sleep(time.Minute)
		if got := m.Unready(); got != "" {
			t.Errorf("unready: %q", got)
		}
		stop()
		time.Sleep(DefaultMaxAge + time.Second)
		if got := m.Unready(); got != "the node history has received nothing about nodes for more than 5m0s" {
			t.Errorf("unready: %q", got)
		}
		if _, err := m.AddressOwner(context.Background(), "10.0.0.1", ""); err == nil {
			t.Error("it tells of addresses what is long past")
		}
	})
}

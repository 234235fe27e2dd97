// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// TestAFullMemoryForgetsNothing fills the ConfigMap to just below its limit.
func TestAFullMemoryForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.NewKubeRegistry()
		w := newWorld(t, "compromised")
		full := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name}, Data: map[string]string{}}
		one := record{uid: "1", version: "1", taints: longTaints()}.encode()
		for i := 0; size(full.Data)+len(one)+8 < mostBytes; i++ {
			full.Data[fmt.Sprintf("old%05d", i)] = one
		}
		rest := record{uid: "1", version: "1", taints: taints(bad)}.encode()
		full.Data["rest"] = rest + strings.Repeat(" ", mostBytes-size(full.Data)-len("rest")-len(rest))
		stored := len(full.Data)
		w.install("full", full.Data)
		m, stop := w.startWith(registry)
		w.register("new1", "1", bad)
		w.register("new2", "1", bad)
		data := w.stored()
		if _, found := data["new1"]; found || len(data) != stored {
			t.Errorf("%d of %d records are stored", len(data), stored)
		}
		w.expect(m, "no room", "new1", bad, "")
		w.expectMetrics(registry,
			map[string]float64{"no_room": 2, "unwritten": 2, "records": float64(stored + 2), "bytes": float64(size(full.Data))})
		w.remove("new2")
		if _, err := Clear(context.Background(), w.client, "old00001", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * retryFull)
		w.expectStored("once there is room", "new1", bad)
		w.expectStored("once there is room, of a Node that is gone", "new2", bad)
		w.expectMetrics(registry, map[string]float64{"no_room": 0, "unwritten": 0})
		stop()
	})
}

// longTaints returns the longest taints that one node can have recorded.
func longTaints() []corev1.Taint {
	var all []corev1.Taint
	for i := range mostTaints {
		all = append(all, taint(
			fmt.Sprintf("%s/%s-%02d=%s:PreferNoSchedule", strings.Repeat("d", 253), strings.Repeat("k", 60), i,
				strings.Repeat("v", 63))))
	}
	return all
}

func TestBoundsOfOneNode(t *testing.T) {
	sticky := configuration.NewKeys("compromised", "pool/*")
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("pool/x%d:NoSchedule", i))
	}
	n := &node{uid: "1", version: "5", taints: taints(strings.Join(many, " ") + " " + bad)}
	first := record{}.observed(n, sticky)
	if len(first.taints) != mostTaints || first.taints[0] != taint(bad) {
		t.Errorf("%d taints are kept, the first is %v: what is marked by name comes first", len(first.taints),
			first.taints[0])
	}
	n.taints = taints(bad + " quarantine:NoExecute " + strings.Join(many[:80], " "))
	sticky = configuration.NewKeys("quarantine", "pool/*")
	n.version = "6"
	second := first.observed(n, sticky)
	if len(second.taints) != mostTaints || second.taints[0] != taint(bad) || missing(first.taints, second.taints) != nil {
		t.Error("what was remembered before is forgotten for something new")
	}
	third := second.observed(&node{uid: "2", version: "7", taints: taints("quarantine:NoExecute")}, sticky)
	if len(third.absent) != mostTaints || len(third.taints) != 0 {
		t.Errorf("%d absent and %d there", len(third.absent), len(third.taints))
	}
}

func nobody(corev1.Taint) bool { return false }

// A taint that an administrator adds is seen, however many taints the node was registered with.
func TestManyTaintsHideNothing(t *testing.T) {
	n := newNode("hostile", "1", "")
	for i := range 1000 {
		n.Spec.Taints = append(n.Spec.Taints, taint(fmt.Sprintf("t%d:NoSchedule", i)))
	}
	n.Spec.Taints = append(n.Spec.Taints, taint(bad))
	seen := newNodes().set(n, func(taint corev1.Taint) bool { return taint.Key == "compromised" })
	if len(seen.taints) != mostSeen || seen.taints[0] != taint(bad) {
		t.Errorf("of %d taints the first is %v", len(seen.taints), seen.taints[0])
	}
}

func TestRecordedValuesAreBounded(t *testing.T) {
	all := newNodes()
	n := newNode("hostile", "1", "")
	for i := range 5000 {
		n.Spec.Taints = append(n.Spec.Taints, taint(fmt.Sprintf("t%d:NoSchedule", i)))
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Address: fmt.Sprint(i)})
	}
	if seen := all.set(n, nobody); len(seen.taints) != mostSeen || len(seen.addresses) != mostSeen {
		t.Errorf("%d taints and %d addresses", len(seen.taints), len(seen.addresses))
	}
	for i := range mostGone + 10 {
		name := fmt.Sprintf("n%d", i)
		all.set(newNode(name, "1", ""), nobody)
		all.remove(name)
		all.remove(name)
	}
	if len(all.byName) != mostGone+1 || len(all.graves) != mostGone {
		t.Errorf("%d Nodes, %d gone", len(all.byName), len(all.graves))
	}
	if all.byName["n9"] != nil || all.byName["n10"] == nil || all.byName["hostile"] == nil {
		t.Error("it is not the oldest that were forgotten")
	}
	all.set(newNode("n10", "2", ""), nobody)
	all.set(newNode("extra", "1", ""), nobody)
	all.remove("extra")
	if all.byName["n10"] == nil {
		t.Error("a Node that has come back is forgotten with those that went before")
	}
}

func TestManyNodesAtOnceAreFewWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "compromised")
		m, _ := w.start()
		for i := range 60 {
			w.register(fmt.Sprintf("n%d", i), "1", bad)
		}
		if got := len(w.stored()); got != 60 {
			t.Errorf("%d stored", got)
		}
		writes := 0
		for _, action := range w.client.Actions() {
			if action.GetResource().Resource == "configmaps" && (action.GetVerb() == "update" || action.GetVerb() == "create") {
				writes++
			}
		}
		if writes > 3 {
			t.Errorf("%d writes", writes)
		}
		w.expect(m, "one of many", "n59", bad, "")
	})
}

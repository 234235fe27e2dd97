// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package filling

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"github.com/bulkhead-k8s/bulkhead/components/machinetable"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

const timeout = 30 * time.Second

func policy(t *testing.T, pool string) *configuration.Configuration {
	t.Helper()
	p, err := configuration.Parse([]byte("apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\n" +
		"machines:\n- name: pii-*\n  labels: {pool: " + pool + "}\n" +
		"  taints: [{key: dedicated, value: " + pool + ", effect: NoSchedule}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func node(name string, taints ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1", ResourceVersion: "5"}}
	for _, key := range taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

// start runs a Filler until the end of the test.
func start(t *testing.T, client *fake.Clientset, current func() *configuration.Configuration) metrics.KubeRegistry {
	t.Helper()
	registry := metrics.NewKubeRegistry()
	f := New(Config{Client: client, Policy: current, Registry: registry})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { f.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	eventually(t, "the Nodes are known", func() bool { return f.Synced() == "" })
	return registry
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(timeout); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", timeout, what)
		}
	}
}

func read(t *testing.T, client *fake.Clientset, name string) *corev1.Node {
	t.Helper()
	n, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func filled(t *testing.T, client *fake.Clientset, name, pool string) func() bool {
	return func() bool {
		n := read(t, client, name)
		return n.Labels["pool"] == pool && len(n.Spec.Taints) == 1 && n.Spec.Taints[0].Key == "dedicated" &&
			n.Spec.Taints[0].Value == pool
	}
}

func TestNodesAreFilledIn(t *testing.T) {
	client := fake.NewClientset(node("pii-1", configuration.StartupTaint), node("other", "x"))
	p := policy(t, "pii")
	start(t, client, func() *configuration.Configuration { return p })
	eventually(t, "the Node that existed has its row", filled(t, client, "pii-1", "pii"))
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node("pii-2", configuration.StartupTaint),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new Node has its row", filled(t, client, "pii-2", "pii"))
	if other := read(t, client, "other"); len(other.Labels) > 0 || len(other.Spec.Taints) != 1 {
		t.Errorf("a Node without a row was changed: %v %v", other.Labels, other.Spec.Taints)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() == "patch" && !strings.HasPrefix(action.(clienttesting.PatchAction).GetName(), "pii-") {
			t.Errorf("a Node without a row was patched: %v", action)
		}
	}
}

func TestAFailedWriteIsRetried(t *testing.T) {
	client := fake.NewClientset()
	var failed atomic.Int32
	client.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		switch failed.Add(1) {
		case 1:
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "pii-1", errors.New("changed"))
		case 2:
			return true, nil, errors.New("no answer")
		}
		return false, nil, nil
	})
	p := policy(t, "pii")
	registry := start(t, client, func() *configuration.Configuration { return p })
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node("pii-1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Node has its row", filled(t, client, "pii-1", "pii"))
	eventually(t, "each result is counted", func() bool {
		return testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP bulkhead_machine_table_writes_total [ALPHA] Writes to Nodes, by result: good, conflict or bad.
# TYPE bulkhead_machine_table_writes_total counter
bulkhead_machine_table_writes_total{result="bad"} 1
bulkhead_machine_table_writes_total{result="conflict"} 1
bulkhead_machine_table_writes_total{result="good"} 1
`), "bulkhead_machine_table_writes_total") == nil
	})
}

// TestPatch: labels alone do not depend on the version that was read, taints do.
func TestPatch(t *testing.T) {
	for _, row := range []struct {
		name    string
		missing machinetable.Missing
		want    string
	}{
		{"labels", machinetable.Missing{Labels: map[string]string{"a": "b"}}, `{"metadata":{"labels":{"a":"b"},"uid":"1"}}`},
		{"taints", machinetable.Missing{Taints: []corev1.Taint{{Key: "a", Effect: "NoSchedule"}}},
			`{"metadata":{"resourceVersion":"5","uid":"1"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`},
		{"no taints any more", machinetable.Missing{Taints: []corev1.Taint{}},
			`{"metadata":{"resourceVersion":"5","uid":"1"},"spec":{"taints":[]}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := patchFor(node("pii-1"), row.missing)
			if diff := cmp.Diff(row.want, string(got)); diff != "" || err != nil {
				t.Errorf("error %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// world is a cluster that compares resource versions on update, as an API server does.
type world struct {
	t       *testing.T
	client  *fake.Clientset
	version atomic.Int64
	// marked has the entries of stickyTaints.
	marked atomic.Pointer[configuration.Configuration]
}

func newWorld(t *testing.T, sticky ...string) *world {
	w := &world{t: t, client: fake.NewClientset()}
	w.version.Store(100)
	w.mark(sticky...)
	w.install("first", nil)
	w.client.PrependReactor("create", "*", w.stamp)
	w.client.PrependReactor("update", "*", w.stamp)
	return w
}

// install creates the ConfigMap as the installer does, and replaces an existing one.
func (w *world) install(uid string, data map[string]string) {
	w.t.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name, UID: types.UID(uid)},
		Data: data}
	made.ResourceVersion = strconv.FormatInt(w.version.Add(1), 10)
	configMaps := w.client.Tracker()
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	if err := configMaps.Create(resource, made, Namespace); err != nil {
		if err = configMaps.Update(resource, made, Namespace); err != nil {
			w.t.Fatal(err)
		}
	}
}

// uninstall deletes the ConfigMap.
func (w *world) uninstall() {
	w.t.Helper()
	if err := w.client.CoreV1().ConfigMaps(Namespace).Delete(context.Background(), Name,
		metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// mark changes the sticky taints in the configuration.
func (w *world) mark(sticky ...string) {
	w.marked.Store(&configuration.Configuration{StickyTaints: configuration.NewKeys(sticky...)})
}

// stamp sets the resource version of a written object. It returns a conflict if the update is based
// on an old version.
func (w *world) stamp(action clienttesting.Action) (bool, runtime.Object, error) {
	object := action.(clienttesting.CreateAction).GetObject().(metav1.Object)
	if _, isUpdate := action.(clienttesting.UpdateAction); isUpdate && action.GetVerb() == "update" {
		there, err := w.client.Tracker().Get(action.GetResource(), action.GetNamespace(), object.GetName())
		if err == nil && object.GetResourceVersion() != "" &&
			there.(metav1.Object).GetResourceVersion() != object.GetResourceVersion() {
			return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), object.GetName(), nil)
		}
	}
	object.SetResourceVersion(strconv.FormatInt(w.version.Add(1), 10))
	return false, nil, nil
}

// start runs one instance until the test ends or the returned function is called.
func (w *world) start() (*Store, func()) {
	return w.startWith(nil)
}

func (w *world) startWith(registry metrics.KubeRegistry) (*Store, func()) {
	m := New(Config{Client: w.client, Configuration: w.marked.Load, Registry: registry})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	stop := func() {
		cancel()
		<-done
	}
	w.t.Cleanup(stop)
	w.pass()
	return m, stop
}

// pass waits until all pending work is done.
func (w *world) pass() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func taint(text string) corev1.Taint {
	taints, err := read([]string{text})
	if err != nil {
		panic(err)
	}
	return taints[0]
}

func taints(texts string) []corev1.Taint {
	var all []corev1.Taint
	for text := range strings.FieldsSeq(texts) {
		all = append(all, taint(text))
	}
	return all
}

func newNode(name, uid, texts string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	n.Spec.Taints = taints(texts)
	return n
}

// register creates a Node.
func (w *world) register(name, uid, texts string) {
	w.t.Helper()
	if _, err := w.client.CoreV1().Nodes().Create(context.Background(), newNode(name, uid, texts),
		metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// taint replaces the taints of an existing Node.
func (w *world) taint(name, texts string) {
	w.t.Helper()
	n, err := w.client.CoreV1().Nodes().Get(context.Background(), name, metav1.GetOptions{})
	if err == nil {
		n = n.DeepCopy()
		n.Spec.Taints = taints(texts)
		_, err = w.client.CoreV1().Nodes().Update(context.Background(), n, metav1.UpdateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := w.client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// expect compares the history that an instance returns for a node.
func (w *world) expect(m *Store, when, name, all, absent string) {
	w.t.Helper()
	synctest.Wait()
	got, err := m.History(context.Background(), name)
	if err != nil {
		w.t.Errorf("%s: %v", when, err)
		return
	}
	if g := strings.Join(spell(got.Taints), " "); g != all {
		w.t.Errorf("%s: remembered of %s is %q, want %q", when, name, g, all)
	}
	if g := strings.Join(spell(got.Absent), " "); g != absent {
		w.t.Errorf("%s: absent on %s is %q, want %q", when, name, g, absent)
	}
}

// stored returns the data of the ConfigMap.
func (w *world) stored() map[string]string {
	w.t.Helper()
	w.pass()
	there, err := w.client.CoreV1().ConfigMaps(Namespace).Get(context.Background(), Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return there.Data
}

// expectStored compares the stored taints of a node.
func (w *world) expectStored(when, name, all string) {
	w.t.Helper()
	text, known := w.stored()[name]
	if all == "" {
		if known {
			w.t.Errorf("%s: stored of %s is %s", when, name, text)
		}
		return
	}
	r := decode(text)
	if got := strings.Join(spell(append(r.taints, r.absent...)), " "); got != all {
		w.t.Errorf("%s: stored of %s is %q (%s), want %q", when, name, got, text, all)
	}
}

func (w *world) expectMetrics(registry metrics.KubeRegistry, want map[string]float64) {
	w.t.Helper()
	families, err := registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for name, value := range want {
		found := false
		for _, family := range families {
			if family.GetName() == "bulkhead_node_memory_"+name {
				found = true
				if got := family.GetMetric()[0].GetGauge().GetValue(); got != value {
					w.t.Errorf("bulkhead_node_memory_%s is %v, want %v", name, got, value)
				}
			}
		}
		if !found {
			w.t.Errorf("no metric bulkhead_node_memory_%s", name)
		}
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
)

const scopeKey, exemptionsKey, modeKey = "bulkhead.dev/node-scoped-resources", "bulkhead.dev/node-scoped-exemptions",
	"bulkhead.dev/node-scope-mode"

var podsResource = nodescope.Resource{Resource: "pods"}

// boundPods looks up pods in the graph for node scope, as node-authorizer does.
type boundPods struct{ graph *graph.Graph }

func (b boundPods) BoundPod(namespace, name string) (nodescope.Pod, bool) {
	pod, known := b.graph.BoundPod(namespace, name)
	return nodescope.Pod{UID: pod.UID, NodeName: pod.Node, RunsAs: pod.RunsAs}, known
}

// Annotations of pods and accounts arrive by a list and by events, and disappear again.
func TestScopesArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := podOn("n1", "held")
		held.UID, held.Spec.ServiceAccountName = "1", "agent"
		held.Annotations = map[string]string{scopeKey: "pods", "other": "x"}
		account := &corev1.ServiceAccount{ObjectMeta: named("agent")}
		client := fake.NewClientset(held, account)
		g := graph.New(graph.Options{})
		index := scopeindex.New(boundPods{g}, nil)
		run(t, New(client, g, Options{Scopes: index}))
		accounts := NewAccounts(client, index, Options{})
		run(t, accounts)

		if why := accounts.Unready(); why != "" {
			t.Error(why)
		}
		if pod, known := index.Pod("ns", "held"); !known || pod.NodeName != "n1" || pod.RunsAs != "agent" ||
			!pod.Scope.Covers(podsResource) {
			t.Errorf("listed: %+v, %v", pod, known)
		}
		if a, known := index.Account("ns", "agent"); !known || a.Scope != nil || !a.OfPods.Covers(podsResource) {
			t.Errorf("listed: %+v, %v", a, known)
		}

		account.Annotations = map[string]string{scopeKey: "pods", exemptionsKey: "taints"}
		held.Annotations = nil
		_, err1 := client.CoreV1().ServiceAccounts("ns").Update(t.Context(), account, metav1.UpdateOptions{})
		_, err2 := client.CoreV1().Pods("ns").Update(t.Context(), held, metav1.UpdateOptions{})
		synctest.Wait()
		if pod, known := index.Pod("ns", "held"); err2 != nil || !known || pod.Scope.Covers(podsResource) {
			t.Errorf("updated (%v): %+v, %v", err2, pod, known)
		}
		if a, known := index.Account("ns", "agent"); err1 != nil || !known || !a.Scope.Covers(podsResource) ||
			a.OfPods != nil || !a.Exemptions.Lifts("NR-NODE-4") {
			t.Errorf("updated (%v): %+v, %v", err1, a, known)
		}

		err1 = client.CoreV1().ServiceAccounts("ns").Delete(t.Context(), "agent", metav1.DeleteOptions{})
		err2 = client.CoreV1().Pods("ns").Delete(t.Context(), "held", metav1.DeleteOptions{})
		synctest.Wait()
		if _, known := index.Pod("ns", "held"); known || err2 != nil {
			t.Errorf("a deleted pod is known (%v)", err2)
		}
		if _, known := index.Account("ns", "agent"); known || err1 != nil {
			t.Errorf("a deleted account is known (%v)", err1)
		}
	})
}

// A caller without a graph also gets the ServiceAccounts and the annotations.
func TestAnnotationsArriveWithoutAGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, plain := podOn("n1", "held"), podOn("n1", "plain")
		held.UID, held.Spec.ServiceAccountName = "1", "agent"
		held.Annotations = map[string]string{scopeKey: "pods"}
		account := &corev1.ServiceAccount{ObjectMeta: named("agent")}
		account.Annotations = map[string]string{modeKey: "audit"}
		client := fake.NewClientset(held, plain, account)
		index := scopeindex.New(boundPods{graph.New(graph.Options{})}, nil)
		annotated := NewAnnotated(client, index, index, Options{})
		if why := annotated.Unready(); why == "" {
			t.Error("it is ready before it has run")
		}
		run(t, annotated)
		if why := annotated.Unready(); why != "" {
			t.Error(why)
		}
		if a, known := index.Account("ns", "agent"); !known || !a.Audits || !a.OfPods.Covers(podsResource) ||
			index.Stats().Pods != 1 {
			t.Errorf("listed: %+v, %v, %+v", a, known, index.Stats())
		}
		err := client.CoreV1().Pods("ns").Delete(t.Context(), "held", metav1.DeleteOptions{})
		synctest.Wait()
		if a, _ := index.Account("ns", "agent"); err != nil || a.OfPods != nil {
			t.Errorf("deleted (%v): %+v", err, a)
		}
	})
}

// Seen returns only what the watch has shown. It does not contain resources that have not been
// listed.
func TestLastSeenVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&corev1.ServiceAccount{ObjectMeta: named("agent")})
		index := scopeindex.New(boundPods{graph.New(graph.Options{})}, nil)
		s := NewAnnotated(client, index, index, Options{MaxAge: time.Hour})
		if seen := s.Seen(); len(seen) != 0 {
			t.Errorf("before it has run: %v", seen)
		}
		if s.maxAge != AccountsMaxAge {
			t.Errorf("it may be %v old", s.maxAge)
		}
		run(t, s)
		sa := &corev1.ServiceAccount{ObjectMeta: named("agent")}
		sa.ResourceVersion = "41"
		sa.Annotations = map[string]string{scopeKey: "pods"}
		_, err := client.CoreV1().ServiceAccounts("ns").Update(t.Context(), sa, metav1.UpdateOptions{})
		synctest.Wait()
		if seen := s.Seen(); err != nil || seen[ServiceAccounts] != "41" {
			t.Errorf("%v: %v", err, seen)
		}
	})
}

// order is a PodScopes that records its calls, and whether the graph has the pod at that time.
type order struct {
	graph *graph.Graph
	told  []string
}

func (o *order) note(what string) {
	_, known := o.graph.BoundPod("ns", "p")
	if known {
		what += ", in the graph"
	}
	o.told = append(o.told, what)
}

func (o *order) SetPod(*corev1.Pod)                           { o.note("set") }
func (o *order) DeletePod(string, string)                     { o.note("deleted") }
func (o *order) RetainPods(map[types.NamespacedName]struct{}) { o.note("retained") }

func TestScopesAreDeliveredInOrder(t *testing.T) {
	o := &order{graph: graph.New(graph.Options{})}
	into := podsOf(fake.NewClientset(), o.graph, newEndings(nil, -1, nil), o).into
	pod := podOn("n1", "p")
	for _, err := range []error{into.setObject(pod), into.setObject(pod), into.removeObject(pod), into.setObject(pod),
		into.replaceObjects(nil)} {
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"set", "set, in the graph", "deleted", "set", "retained"}, o.told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// told records which pods and accounts it receives, and their content.
type told struct {
	mu   sync.Mutex
	pods map[string]*corev1.Pod
	sas  map[string]*corev1.ServiceAccount
}

func (s *told) SetPod(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods[pod.Name] = pod
}

func (s *told) DeletePod(_, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, name)
}
func (s *told) RetainPods(map[types.NamespacedName]struct{}) {}

func (s *told) SetAccount(sa *corev1.ServiceAccount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sas[sa.Name] = sa
}
func (s *told) DeleteAccount(_, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sas, name)
}

func (s *told) RetainAccounts(map[types.NamespacedName]struct{}) {}

// Without a graph, every pod is passed on, but with few of its fields.
func TestAnnotatedPodsArriveWithoutAGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, mirror := podOn("n1", "held"), podOn("n1", "mirror")
		held.Spec.ServiceAccountName, mirror.Spec.ServiceAccountName = "agent", "agent"
		held.Annotations = map[string]string{scopeKey: "pods", "other": "x"}
		mirror.Annotations = map[string]string{scopeKey: "pods", corev1.MirrorPodAnnotationKey: "x"}
		account := &corev1.ServiceAccount{ObjectMeta: named("agent")}
		client := fake.NewClientset(held, mirror, podOn("n2", "plain"), account)
		into := &told{pods: map[string]*corev1.Pod{}, sas: map[string]*corev1.ServiceAccount{}}
		s := NewAnnotated(client, into, into, Options{})
		if why := s.Unready(); why != "has not yet seen the whole cluster" {
			t.Errorf("before it runs: %q", why)
		}
		run(t, s)
		if why := s.Unready(); why != "" || len(into.pods) != 3 || len(into.sas) != 1 {
			t.Fatalf("%q, %v, %v", why, into.pods, into.sas)
		}
		want := &corev1.Pod{ObjectMeta: named("held"), Spec: corev1.PodSpec{ServiceAccountName: "agent"}}
		want.ResourceVersion, want.UID = into.pods["held"].ResourceVersion, held.UID
		want.Annotations = map[string]string{scopeKey: "pods"}
		if diff := cmp.Diff(want, into.pods["held"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := into.pods["mirror"]; got.Spec.ServiceAccountName != "" || len(got.Annotations) > 0 {
			t.Errorf("a mirror pod: %+v", got)
		}
		if err := client.CoreV1().Pods("ns").Delete(t.Context(), "held", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, known := into.pods["held"]; known {
			t.Error("a deleted pod is known")
		}
	})
}

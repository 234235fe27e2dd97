// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// world is an index with its graph. Pods are added and removed in the order of a watch.
type world struct {
	*Index
	graph  *graph.Graph
	unread []string
}

func newWorld() *world {
	w := &world{graph: graph.New(graph.Options{})}
	w.Index = New(inGraph{w.graph}, func(kind, namespace, name string, _ error) {
		w.unread = append(w.unread, kind+" "+namespace+"/"+name)
	})
	return w
}

// inGraph looks pods up in the graph, as node-authorizer does.
type inGraph struct{ graph *graph.Graph }

func (g inGraph) BoundPod(namespace, name string) (nodescope.Pod, bool) {
	pod, known := g.graph.BoundPod(namespace, name)
	return nodescope.Pod{UID: pod.UID, NodeName: pod.Node, RunsAs: pod.RunsAs}, known
}

func (w *world) set(pod *corev1.Pod) {
	w.SetPod(pod)
	w.graph.SetPod(pod)
}

func (w *world) remove(name string) {
	w.graph.DeletePod("ns", name)
	w.DeletePod("ns", name)
}

// pod returns a pod of the account "agent" on the node "n", with that annotation unless it is
// none.
func pod(name, uid, scope string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)},
		Spec:       corev1.PodSpec{NodeName: "n", ServiceAccountName: "agent"},
	}
	if scope != none {
		p.Annotations = map[string]string{nodescope.ScopeAnnotation: scope}
	}
	return p
}

const none = "none"

func serviceAccount(name, scope, exemptions string) *corev1.ServiceAccount {
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name,
		Annotations: map[string]string{}}}
	if scope != none {
		sa.Annotations[nodescope.ScopeAnnotation] = scope
	}
	if exemptions != none {
		sa.Annotations[nodescope.ExemptionsAnnotation] = exemptions
	}
	return sa
}

var (
	pods    = nodescope.Resource{Resource: "pods"}
	secrets = nodescope.Resource{Resource: "secrets"}
)

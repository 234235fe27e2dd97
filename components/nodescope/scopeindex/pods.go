// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// maxUnion is the maximum number of different values of one account's pods that are combined.
// With more values, the scope of a token without a pod is everything.
const maxUnion = 64

// SetPod stores the pod's annotation and replaces an earlier one. A pod without an annotation
// uses no memory.
func (x *Index) SetPod(pod *corev1.Pod) {
	named := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	runs := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}
	text, annotated := pod.Annotations[nodescope.ScopeAnnotation]
	if !annotated && !x.hasPod(named) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	before, had := x.pods[named]
	wasMisread := before.scope.misread()
	switch {
	case annotated && before.has(runs, text):
		x.pods[named] = annotatedPod{uid: pod.UID, runs: runs, scope: before.scope}
	case annotated:
		// Release the old value first, because the new one may need its room.
		x.release(before)
		x.addPod(named, pod.UID, runs, text)
	case had && before.uid != pod.UID:
		// A reader may still find the old pod in the graph. It must not find that pod without
		// its annotation. The entry with the new UID makes Pod return not known.
		x.pods[named] = annotatedPod{uid: pod.UID}
		x.release(before)
	default:
		delete(x.pods, named)
		x.release(before)
	}
	if now := x.pods[named].scope; now.misread() && !wasMisread {
		x.unread("Pod", named.Namespace, named.Name, now.Err)
	}
}

// has reports whether the pod already has that value and that account.
func (p annotatedPod) has(runs types.NamespacedName, text string) bool {
	return p.scope != nil && p.scope.refcount > 0 && p.scope.text == text && p.runs == runs
}

func (x *Index) addPod(named types.NamespacedName, uid types.UID, runs types.NamespacedName, text string) {
	scopeValue := x.values.Acquire(Owner{named.Namespace, true}, text)
	x.pods[named] = annotatedPod{uid: uid, runs: runs, scope: scopeValue}
	of := x.ofPods[runs]
	if of == nil {
		of = &podScopes{count: map[*Value]int{}}
		x.ofPods[runs] = of
	}
	if of.count[scopeValue]++; of.count[scopeValue] == 1 {
		of.unite()
	}
}

// hasPod takes only a read lock. It is called for every pod of the cluster, and few pods are
// annotated.
func (x *Index) hasPod(named types.NamespacedName) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, known := x.pods[named]
	return known
}

// DeletePod removes the pod.
func (x *Index) DeletePod(namespace, name string) {
	named := types.NamespacedName{Namespace: namespace, Name: name}
	if !x.hasPod(named) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.deletePod(named)
}

// RetainPods removes the pods that are not in the set.
func (x *Index) RetainPods(keep map[types.NamespacedName]struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for named := range x.pods {
		if _, kept := keep[named]; !kept {
			x.deletePod(named)
		}
	}
}

func (x *Index) deletePod(named types.NamespacedName) {
	if pod, known := x.pods[named]; known {
		delete(x.pods, named)
		x.release(pod)
	}
}

// release reverts one addPod.
func (x *Index) release(pod annotatedPod) {
	of := x.ofPods[pod.runs]
	if pod.scope == nil || of == nil {
		return
	}
	if of.count[pod.scope]--; of.count[pod.scope] == 0 {
		delete(of.count, pod.scope)
		of.unite()
	}
	if len(of.count) == 0 {
		delete(x.ofPods, pod.runs)
	}
	x.values.Release(pod.scope)
}

// unite recomputes the union. The union changes only with the first or the last pod that has a
// value.
func (p *podScopes) unite() {
	if len(p.count) > maxUnion {
		p.union = nodescope.Everything()
		return
	}
	scopeValue := make([]*nodescope.Scope, 0, len(p.count))
	for v := range p.count {
		scopeValue = append(scopeValue, v.scope)
	}
	p.union = nodescope.Union(scopeValue...)
}

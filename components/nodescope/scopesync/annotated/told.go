// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package annotated

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

func annotationOf(uid types.UID, annotations map[string]string) (annotation, bool) {
	text, annotated := annotations[nodescope.ScopeAnnotation]
	if !annotated {
		return annotation{}, false
	}
	a := annotation{uid: uid}
	if _, err := nodescope.ParseScope(text); err != nil {
		a.wrong = err.Error()
	}
	return a, true
}

// SetAccount takes the account's annotation, whatever it had before.
func (x *Index) SetAccount(sa *corev1.ServiceAccount) {
	named := types.NamespacedName{Namespace: sa.Namespace, Name: sa.Name}
	a, annotated := annotationOf(sa.UID, sa.Annotations)
	x.mu.Lock()
	defer x.mu.Unlock()
	set(x.accounts, named, a, annotated)
}

// DeleteAccount forgets the account.
func (x *Index) DeleteAccount(namespace, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	set(x.accounts, types.NamespacedName{Namespace: namespace, Name: name}, annotation{}, false)
}

// ReplaceAccounts makes the index agree with the list.
func (x *Index) ReplaceAccounts(all []*corev1.ServiceAccount) {
	keep := make(map[types.NamespacedName]struct{}, len(all))
	for _, sa := range all {
		x.SetAccount(sa)
		keep[types.NamespacedName{Namespace: sa.Namespace, Name: sa.Name}] = struct{}{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	retain(x.accounts, keep)
}

// SetPod takes the pod's annotation, whatever it had before. That of a mirror pod does
// not count, nor that of a pod without an account: nobody has a token of those.
func (x *Index) SetPod(pod *corev1.Pod) {
	named := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	a, annotated := annotationOf(pod.UID, pod.Annotations)
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror || pod.Spec.ServiceAccountName == "" {
		annotated = false
	}
	if !annotated && !x.hasPod(named) {
		return
	}
	runsAs := scopelist.Account{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}
	x.mu.Lock()
	defer x.mu.Unlock()
	set(x.pods, named, podAnnotation{a, runsAs}, annotated)
}

// hasPod is asked for every pod of the cluster, and few are annotated.
func (x *Index) hasPod(named types.NamespacedName) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, known := x.pods[named]
	return known
}

// DeletePod forgets the pod.
func (x *Index) DeletePod(namespace, name string) {
	named := types.NamespacedName{Namespace: namespace, Name: name}
	if !x.hasPod(named) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	set(x.pods, named, podAnnotation{}, false)
}

// RetainPods forgets the pods that are not in the set.
func (x *Index) RetainPods(keep map[types.NamespacedName]struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	retain(x.pods, keep)
}

// set makes the value, or no value, what is known under the name.
func set[V any](all map[types.NamespacedName]V, named types.NamespacedName, value V, annotated bool) {
	if annotated {
		all[named] = value
		return
	}
	delete(all, named)
}

func retain[V any](all map[types.NamespacedName]V, keep map[types.NamespacedName]struct{}) {
	maps.DeleteFunc(all, func(named types.NamespacedName, _ V) bool {
		_, kept := keep[named]
		return !kept
	})
}

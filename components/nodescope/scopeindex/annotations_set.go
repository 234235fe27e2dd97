// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// SetAccount stores the account's annotations and replaces earlier ones.
func (x *Annotations) SetAccount(sa *corev1.ServiceAccount) {
	named := types.NamespacedName{Namespace: sa.Namespace, Name: sa.Name}
	digest := scopelist.DigestOfAccount(sa.Annotations)
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.accounts[named]
	if digest == "" {
		x.deleteAccount(named)
		return
	}
	next := annotation{
		uid: sa.UID, created: sa.CreationTimestamp.Time,
		digest: digest, version: before.versionOf(sa.UID, digest, sa.ResourceVersion),
	}
	if text, annotated := sa.Annotations[nodescope.ScopeAnnotation]; annotated {
		next.scope = x.values.Change(before.scope, Owner{Namespace: sa.Namespace}, text)
	} else {
		x.values.Release(before.scope)
	}
	x.accounts[named] = next
}

// versionOf returns the stored version if the annotations have not changed, and version
// otherwise.
func (a annotation) versionOf(uid types.UID, digest, version string) string {
	if a.uid == uid && a.digest == digest {
		return a.version
	}
	return version
}

// DeleteAccount removes the account.
func (x *Annotations) DeleteAccount(namespace, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.deleteAccount(types.NamespacedName{Namespace: namespace, Name: name})
}

func (x *Annotations) deleteAccount(named types.NamespacedName) {
	x.values.Release(x.accounts[named].scope)
	delete(x.accounts, named)
}

// RetainAccounts removes the accounts that are not in the set.
func (x *Annotations) RetainAccounts(keep map[types.NamespacedName]struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for named := range x.accounts {
		if _, kept := keep[named]; !kept {
			x.deleteAccount(named)
		}
	}
}

// SetPod stores the pod's annotation and replaces an earlier one. It ignores the annotation of
// a mirror pod, and of a pod without an account: there are no tokens for such pods.
func (x *Annotations) SetPod(pod *corev1.Pod) {
	named := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	text, annotated := pod.Annotations[nodescope.ScopeAnnotation]
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror || pod.Spec.ServiceAccountName == "" {
		annotated = false
	}
	if !annotated && !x.hasPod(named) {
		return
	}
	runsAs := scopelist.Account{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !annotated {
		x.deletePod(named)
		return
	}
	before, digest := x.pods[named], scopelist.DigestOfPod(text)
	next := annotation{
		uid: pod.UID, digest: digest, version: before.versionOf(pod.UID, digest, pod.ResourceVersion),
		scope: x.values.Change(before.scope, Owner{Namespace: pod.Namespace, OfPods: true}, text),
	}
	x.pods[named] = podAnnotation{next, runsAs}
}

// hasPod takes only a read lock. It is called for every pod of the cluster, and few pods are
// annotated.
func (x *Annotations) hasPod(named types.NamespacedName) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, known := x.pods[named]
	return known
}

// DeletePod removes the pod.
func (x *Annotations) DeletePod(namespace, name string) {
	named := types.NamespacedName{Namespace: namespace, Name: name}
	if !x.hasPod(named) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.deletePod(named)
}

func (x *Annotations) deletePod(named types.NamespacedName) {
	x.values.Release(x.pods[named].scope)
	delete(x.pods, named)
}

// RetainPods removes the pods that are not in the set.
func (x *Annotations) RetainPods(keep map[types.NamespacedName]struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for named := range x.pods {
		if _, kept := keep[named]; !kept {
			x.deletePod(named)
		}
	}
}

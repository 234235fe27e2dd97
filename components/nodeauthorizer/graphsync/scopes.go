// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync/lean"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// ServiceAccounts are watched by [NewAccounts] only.
const ServiceAccounts = "serviceaccounts"

// AccountsMaxAge bounds the MaxAge of [NewAccounts] and [NewAnnotated]. Until it is over, a
// component whose watch is broken decides by annotations that may have changed since. A
// healthy API server sends a bookmark every 45 to 75 seconds, so one may be missed.
const AccountsMaxAge = 150 * time.Second

// PodScopes takes what pods say of node scope. It is told of a pod before the graph is,
// and of its deletion after: who finds a pod in the graph finds here what it says.
type PodScopes interface {
	SetPod(pod *corev1.Pod)
	DeletePod(namespace, name string)
	RetainPods(keep map[types.NamespacedName]struct{})
}

// AccountScopes takes what ServiceAccounts say of node scope.
type AccountScopes interface {
	SetAccount(account *corev1.ServiceAccount)
	DeleteAccount(namespace, name string)
	ReplaceAccounts(accounts []*corev1.ServiceAccount)
}

// NewAccounts prepares to tell what ServiceAccounts say of node scope. It is a [Sync] of
// its own, so that what the graph is good for does not depend on it. The client needs
// list and watch on service accounts in every namespace. Of the options it reads MaxAge,
// which is [AccountsMaxAge] at most.
func NewAccounts(client kubernetes.Interface, into AccountScopes, options Options) *Sync {
	return newWithoutGraph(client, options, accountsOf(client, into))
}

// NewAnnotated prepares to tell what ServiceAccounts and pods say of node scope, to whom
// needs no graph. Of a pod nothing is told but its name, its account and its annotation;
// of a mirror pod, which runs as nobody, not even that. The client needs list and watch on
// service accounts and pods in every namespace. Of the options it reads MaxAge.
func NewAnnotated(client kubernetes.Interface, pods PodScopes, accounts AccountScopes, options Options) *Sync {
	return newWithoutGraph(client, options, accountsOf(client, accounts), resource{
		name: Pods, example: &corev1.Pod{},
		source: everything(coreOf(client, lean.PodsOfAccounts).Pods(metav1.NamespaceAll)),
		into: typed[*corev1.Pod]{
			set:    func(pod *corev1.Pod) { pods.SetPod(ofAccount(pod)) },
			remove: pods.DeletePod, retain: pods.RetainPods,
		},
	})
}

func newWithoutGraph(client kubernetes.Interface, options Options, resources ...resource) *Sync {
	s := &Sync{
		client: client,
		maxAge: min(cmp.Or(options.MaxAge, DefaultMaxAge), AccountsMaxAge),
		// No pod of it ever ends.
		endings: newEndings(clock.RealClock{}, -1, nil),
	}
	for _, resource := range resources {
		s.watched = append(s.watched, watched{resource, newStore(resource.into, newView(resource.name))})
	}
	return s
}

func accountsOf(client kubernetes.Interface, into AccountScopes) resource {
	return resource{
		name: ServiceAccounts, example: &corev1.ServiceAccount{},
		source: everything(coreOf(client, lean.ServiceAccounts).ServiceAccounts(metav1.NamespaceAll)),
		into: typed[*corev1.ServiceAccount]{
			set: into.SetAccount, remove: into.DeleteAccount, replace: into.ReplaceAccounts, trim: trimAccount,
		},
	}
}

// withScopes has scopes told in the order that it is promised.
func withScopes(pods typed[*corev1.Pod], scopes PodScopes) typed[*corev1.Pod] {
	graph := pods
	pods.set = func(pod *corev1.Pod) {
		scopes.SetPod(pod)
		graph.set(pod)
	}
	pods.remove = func(namespace, name string) {
		graph.remove(namespace, name)
		scopes.DeletePod(namespace, name)
	}
	pods.retain = func(keep map[types.NamespacedName]struct{}) {
		graph.retain(keep)
		scopes.RetainPods(keep)
	}
	pods.trim = func(pod *corev1.Pod) {
		scope, annotated := pod.Annotations[nodescope.ScopeAnnotation]
		graph.trim(pod)
		if annotated {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, nodescope.ScopeAnnotation, scope)
		}
	}
	return pods
}

// ofAccount is what a pod says of its account: which it is, and the annotation.
func ofAccount(pod *corev1.Pod) *corev1.Pod {
	says := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}}
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	if scope, annotated := pod.Annotations[nodescope.ScopeAnnotation]; annotated && !mirror {
		says.Annotations = map[string]string{nodescope.ScopeAnnotation: scope}
		says.Spec.ServiceAccountName = pod.Spec.ServiceAccountName
	}
	return says
}

// trimAccount drops, in place, all but what is read of an account.
func trimAccount(account *corev1.ServiceAccount) {
	kept := map[string]string{}
	for _, key := range []string{nodescope.ScopeAnnotation, nodescope.ExemptionsAnnotation, nodescope.ModeAnnotation} {
		if value, ok := account.Annotations[key]; ok {
			kept[key] = value
		}
	}
	*account = corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: account.Namespace, Name: account.Name, UID: account.UID, ResourceVersion: account.ResourceVersion,
		CreationTimestamp: account.CreationTimestamp, Annotations: kept,
	}}
}

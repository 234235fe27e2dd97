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

	"github.com/bulkhead-k8s/bulkhead/components/internal/reflector"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync/lean"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// ServiceAccounts are watched only by [NewAccounts] and [NewAnnotated].
const ServiceAccounts = "serviceaccounts"

// AccountsMaxAge is the upper limit for the MaxAge of [NewAccounts] and [NewAnnotated]. If the
// watch is broken, a component may decide from outdated annotations for this long. A healthy API
// server sends a bookmark every 45 to 75 seconds, so one bookmark may be missed.
const AccountsMaxAge = 150 * time.Second

// PodScopes receives the node scope annotations of pods. It receives a pod before the graph does,
// and a deletion after the graph does. So for every pod in the graph, its annotation is known here.
type PodScopes interface {
	SetPod(pod *corev1.Pod)
	DeletePod(namespace, name string)
	RetainPods(keep map[types.NamespacedName]struct{})
}

// AccountScopes receives the node scope annotations of ServiceAccounts.
type AccountScopes interface {
	SetAccount(account *corev1.ServiceAccount)
	DeleteAccount(namespace, name string)
	RetainAccounts(keep map[types.NamespacedName]struct{})
}

// NewAccounts prepares a watch of the node scope annotations of ServiceAccounts. It is a separate
// [Sync], so that the readiness of the graph does not depend on it. The client needs list and watch
// on service accounts in every namespace. The only option that it uses is MaxAge, which is limited
// to [AccountsMaxAge].
func NewAccounts(client kubernetes.Interface, into AccountScopes, options Options) *Sync {
	return newWithoutGraph(client, options, accountsOf(client, into))
}

// NewAnnotated prepares a watch of the node scope annotations of ServiceAccounts and pods, for
// callers that need no graph. A pod is passed on with its name, UID, resource version,
// ServiceAccount and annotation only. The account and the annotation are left out if the pod has no
// annotation, and for a mirror pod, which has no ServiceAccount. The client needs list and watch on
// service accounts and pods in every namespace. The only option that it uses is MaxAge, which is
// limited to [AccountsMaxAge].
func NewAnnotated(client kubernetes.Interface, pods PodScopes, accounts AccountScopes, options Options) *Sync {
	return newWithoutGraph(client, options, accountsOf(client, accounts), resource{
		name: Pods, example: &corev1.Pod{},
		source: reflector.Everything(coreOf(client, lean.PodsOfAccounts).Pods(metav1.NamespaceAll)),
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
		// This Sync does not use the end of pods.
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
		source: reflector.Everything(coreOf(client, lean.ServiceAccounts).ServiceAccounts(metav1.NamespaceAll)),
		into: typed[*corev1.ServiceAccount]{
			set: into.SetAccount, remove: into.DeleteAccount, retain: into.RetainAccounts,
		},
	}
}

// withScopes calls scopes and the graph in the order that [PodScopes] promises.
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
	return pods
}

// ofAccount keeps the pod's identity, its ServiceAccount and its node scope annotation.
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

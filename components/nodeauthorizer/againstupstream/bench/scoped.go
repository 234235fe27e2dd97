// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
)

// NewScoped is the entry of node scope, as node-authorizer has it, over the hardened
// node authorizer in that world. The account of every pod is held on secrets.
func NewScoped(w *World) *nodescope.Authorizer {
	g, node := newHardened()
	Populate(ours{g, node}, w)
	index := scopeindex.New(g, nil)
	for _, pod := range w.Pods {
		index.SetAccount(accountOf(pod))
	}
	return nodescope.New(nodescope.Config{Node: node, Info: index, Unready: ready})
}

func accountOf(pod *corev1.Pod) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName, Annotations: map[string]string{nodescope.ScopeAnnotation: "secrets"},
	}}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import "k8s.io/apimachinery/pkg/types"

// RequesterType says as what somebody asks for a resource.
type RequesterType int

const (
	// Kubelet is a node.
	Kubelet RequesterType = iota
	// NodeScopedDaemonSet is a pod, or an account, that is held to its node on the
	// resource.
	NodeScopedDaemonSet
	// Others is everybody else, and a pod on a resource that is not in its scope.
	Others
)

// NodeInfo is what is known of accounts and pods. It should not allocate, and is safe
// for concurrent use.
type NodeInfo interface {
	// Account returns what the annotations of a ServiceAccount say. It is not known if
	// there is no such account, or if that cannot be told.
	Account(namespace, name string) (account Account, known bool)
	// Pod returns the pod of that name as it is now.
	Pod(namespace, name string) (pod Pod, known bool)
}

// Account is what is known of a ServiceAccount.
type Account struct {
	// Scope is what the account's own annotation holds; nil if there is none.
	Scope *Scope
	// OfPods is what the annotations of all its pods hold together. It binds tokens that
	// name no pod: those must not be worth more than the pods'.
	OfPods *Scope
	// Exemptions are those of the account's annotation; nil if there are none.
	Exemptions *Exemptions
	// Audits is true if the account's scope refuses nothing and is only reported.
	Audits bool
}

// Pod is what is known of a pod.
type Pod struct {
	UID types.UID
	// NodeName is empty for a pod that is bound to no node.
	NodeName string
	// RunsAs is the name of the account. It is empty for a mirror pod, whatever that
	// says: a node wrote it, and there is no token of it.
	RunsAs string
	// Scope is what the pod's own annotation adds; nil if there is none.
	Scope *Scope
}

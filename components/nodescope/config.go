// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Config is what an [Authorizer] decides from.
type Config struct {
	// Node decides what a node may do. What it does not allow, it denies or has no
	// opinion on, is denied here.
	Node NodeAuthorizer
	// Info, if nil, knows no account, so that every account is denied.
	Info NodeInfo
	// Confirmer, if nil, confirms nothing: Info has the last word.
	Confirmer Confirmer
	// Custom are the custom resources that say which node they belong to.
	Custom Declarations
	// Objects reads those; if it is nil they cannot be read.
	Objects Objects
	// Revoked, if not nil, returns the credentials that are revoked now. It must not
	// allocate.
	Revoked func() *revocationlist.Set
	// Unready says, as the end of a sentence, why Info and Node are not to be relied on.
	// While it says anything, and forever if it is nil, every account is denied. It must
	// not allocate to say nothing.
	Unready func() (why string)
}

// NodeAuthorizer decides what nodes may do. It is safe for concurrent use.
type NodeAuthorizer interface {
	Decide(ctx context.Context, a authorizer.Attributes) rules.Decision
}

// Confirmer makes sure that [NodeInfo] is not behind the cluster. It is called only
// before a token is refused because its pod is not there.
type Confirmer interface {
	// ConfirmPod makes NodeInfo know the pod, if a pod with that name and UID was on the
	// node when it was called. Why is empty if NodeInfo is not behind now; else it says, as
	// the end of a sentence, why that is not certain. It waits no longer than ctx. An answer
	// about one UID says nothing about another: a pod may have replaced one of its name.
	ConfirmPod(ctx context.Context, node, namespace, name, uid string) (why string)
}

// Objects reads custom resources as they are now.
type Objects interface {
	// NodeOf returns what the object says at the declared place. It is empty if there is
	// no such object, or if it says nothing there. asks is the node on whose behalf it is
	// read, for budgets. The wait for it ends with ctx.
	NodeOf(ctx context.Context, asks string, at Declaration, version, namespace, name string) (node string, err error)
}

// noInfo is a cluster of which nothing is known.
type noInfo struct{}

func (noInfo) Account(string, string) (none Account, known bool) { return Account{}, false }
func (noInfo) Pod(string, string) (none Pod, known bool)         { return Pod{}, false }

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

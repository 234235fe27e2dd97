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

// Config is the configuration of an [Authorizer].
type Config struct {
	// Node decides what a node may do. If its decision is not allow, this authorizer denies.
	Node NodeAuthorizer
	// Info looks up accounts and pods. If it is nil, no account is known, and every account is
	// denied.
	Info NodeInfo
	// Confirmer refreshes Info before a denial. If it is nil, Info is not refreshed.
	Confirmer Confirmer
	// Custom are the custom resources whose objects name the node that they belong to.
	Custom Declarations
	// Objects reads the objects of Custom. If it is nil, they cannot be read, and access is
	// denied.
	Objects Objects
	// Revoked returns the credentials that are revoked now. If it is nil, no credential is
	// revoked.
	Revoked func() *revocationlist.Set
	// Unready returns why Info and Node are not current, as the end of a sentence, or an empty
	// string if they are. While the string is not empty, every account is denied. If Unready is
	// nil, every account is always denied.
	Unready func() (why string)
}

// NodeAuthorizer decides what nodes may do. It is safe for concurrent use.
type NodeAuthorizer interface {
	Decide(ctx context.Context, a authorizer.Attributes) rules.Decision
}

// Confirmer makes sure that [NodeInfo] is not older than the cluster state. It is called only
// before a token is denied because its pod is not found.
type Confirmer interface {
	// ConfirmPod makes NodeInfo find the pod, if a pod with that name and UID was on the node
	// at the time of the call. The result is empty if NodeInfo is now current. Otherwise it
	// says, as the end of a sentence, why that is not certain. ConfirmPod returns when ctx is
	// done. An answer for one UID is not valid for another UID: a new pod may have the name of
	// a deleted one.
	ConfirmPod(ctx context.Context, node, namespace, name, uid string) (why string)
}

// Objects reads custom resources from the API server, without a cache.
type Objects interface {
	// NodeOf returns the node that the object names at the declared place. It is empty if the
	// object does not exist, or names no node there. asks is the node whose pod sent the
	// request, so that an implementation can limit the reads of each node. NodeOf returns when
	// ctx is done. An error means that the object cannot be read.
	NodeOf(ctx context.Context, asks string, at Declaration, version, namespace, name string) (node string, err error)
}

// noInfo is a NodeInfo that knows no account and no pod.
type noInfo struct{}

func (noInfo) Account(string, string) (none Account, known bool) { return Account{}, false }
func (noInfo) Pod(string, string) (none Pod, known bool)         { return Pod{}, false }

// NodeInfo looks up accounts and pods. It must be safe for concurrent use.
type NodeInfo interface {
	// Account returns what the annotations of a ServiceAccount say. known is false if the
	// account does not exist, or if NodeInfo does not know whether it exists.
	Account(namespace, name string) (account Account, known bool)
	// Pod returns the current pod of that name.
	Pod(namespace, name string) (pod Pod, known bool)
}

// Account is the node-scope data of a ServiceAccount.
type Account struct {
	// Scope is the scope in the account's own annotation; nil if there is none.
	Scope *Scope
	// OfPods is the union of the scopes of all pods of the account. It applies to tokens that
	// name no pod: such a token must not permit more than the token of a pod.
	OfPods *Scope
	// Exemptions are those of the account's annotation; nil if there are none.
	Exemptions *Exemptions
	// Audits is true if the account is in audit mode: denials are reported but not enforced.
	Audits bool
}

// Pod is the node-scope data of a pod.
type Pod struct {
	UID types.UID
	// NodeName is empty for a pod that is not bound to a node.
	NodeName string
	// RunsAs is the name of the pod's ServiceAccount. It is always empty for a mirror pod: a
	// node wrote that pod, and there are no tokens for it.
	RunsAs string
	// Scope is the scope in the pod's own annotation; nil if there is none.
	Scope *Scope
}

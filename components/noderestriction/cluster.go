// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Cluster is what the rules ask about other objects than the one that is written.
//
// Every method answers from the API server as it is now, unless it says otherwise.
// An object that does not exist is an error of the API with the code 404
// (apierrors.IsNotFound); every other error means that the answer is not known, and
// then nothing is admitted that depends on it. What is returned must not be
// changed. All methods are safe for concurrent use and end with ctx.
type Cluster interface {
	Node(ctx context.Context, name string) (*corev1.Node, error)
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
	ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
	PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error)
	PersistentVolume(ctx context.Context, name string) (*corev1.PersistentVolume, error)
	// PodsOn returns the pods that are bound to a node, the newest first. Only what
	// identifies them, their creation time and their volumes must be read.
	PodsOn(ctx context.Context, node string) ([]*corev1.Pod, error)
	// CSIDriver may be a few seconds behind.
	CSIDriver(ctx context.Context, name string) (*storagev1.CSIDriver, error)

	// BoundTo returns the node that the pod of this UID is bound to. As a pod is
	// bound once and for all, the answer may be remembered, also when the pod is
	// gone. A pod that was never seen with that UID is an error with the code 404.
	BoundTo(ctx context.Context, namespace, name string, uid types.UID) (node string, err error)
	// Count returns how many objects of that kind there are for the node: up to
	// limit, which is positive. More than that is limit.
	Count(ctx context.Context, what Counted, node string, limit int) (int, error)
	// PoolUser returns a user of a pool of devices of a driver, other than the node but:
	// the name of a node, or [NoNode] for a slice that belongs to no single node. It is
	// empty if no other has a ResourceSlice in that pool.
	PoolUser(ctx context.Context, driver, pool string, but string) (node string, err error)
	// SigningRequests returns how many CertificateSigningRequests for those signers the
	// node has made: up to limit. More than that is limit. It is by a count that may be
	// half a minute old, and older while the API server cannot be reached; what this
	// process was told of since is in it. With adds, one more is told of, unless there
	// are limit. It makes no call.
	SigningRequests(node string, of Signers, limit int, adds bool) int
	// AddressOwner returns the name of a Node other than but whose status has the
	// address; empty if there is none. It may be a few seconds behind.
	AddressOwner(ctx context.Context, address string, but string) (node string, err error)
	// ServiceWith says what has an IP, as nodeaddress.Canonical spells it, as a cluster
	// IP; empty if nothing has.
	ServiceWith(ctx context.Context, ip string) (service string, err error)
	// APIServer returns the names and addresses that the API servers are reached at, as
	// nodeaddress.Canonical spells them.
	APIServer(ctx context.Context) ([]string, error)
	// Remembered returns what was last seen of the taints of a Node of that name, which
	// may be gone; the zero value if nothing was.
	History(ctx context.Context, node string) (NodeHistory, error)
	// LastReported returns where a Node of that name, which may be gone, was when its
	// status last said so; the zero value if it never did.
	LastReported(ctx context.Context, node string) (Reported, error)
	// ProviderIDOwner returns the name of a Node other than but that has the providerID;
	// empty if there is none. It may be a few seconds behind.
	ProviderIDOwner(ctx context.Context, id string, but string) (node string, err error)
}

// NoNode is what [Cluster.PoolUser] returns for a slice that belongs to no single node.
// No node has such a name.
const NoNode = "<none>"

// Counted is a kind of object that a node may make, and of which it may have only
// so many.
type Counted int

// What is counted.
const (
	MirrorPods Counted = iota
	ResourceSlices
	PodCertificateRequests
)

// NodeHistory is what outlives a Node object. It is kept where no node can write.
type NodeHistory struct {
	// Taints are those of the keys that the operator marked as sticky, as they were
	// last seen on the Node.
	Taints []corev1.Taint
	// UID is that of the Node that was seen last, empty if no taint is remembered.
	UID types.UID
	// Absent are those of Taints that the Node which is there now, or was last, has
	// been registered without.
	Absent []corev1.Taint
	// InitialTaints are those of Taints that a Node came with: its node may have chosen them.
	// The others were put on it later, which nodes cannot do.
	InitialTaints []corev1.Taint
}

// Reported is where a Node says that its kubelet is.
type Reported struct {
	// Addresses are the last that were not empty, and KubeletPort the last that was not
	// 0: that a Node is made anew without them does not change where its machine is.
	Addresses   []corev1.NodeAddress
	KubeletPort int32
	// Hostname is the value that the label kubernetes.io/hostname had last.
	Hostname string
}

// Authorizer says whether an administrator has granted a node a right.
type Authorizer interface {
	// Allowed asks with all that the user is: name, UID, groups and extra. An error
	// means that the answer is not known.
	Allowed(ctx context.Context, who user.Info, right Right) (bool, error)
}

// Right is what the API server's authorizers are asked about.
type Right struct {
	Verb, Group, Version, Resource, Namespace, Name string
}

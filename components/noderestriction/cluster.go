// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Cluster looks up the objects that the rules need besides the object in the request.
//
// Every method returns the current state of the API server, unless its comment says otherwise. For
// an object that does not exist, the error has the code 404 (apierrors.IsNotFound). Every other
// error means that the answer is not known. Then the rules deny every write that depends on it.
// Callers must not change returned objects. All methods are safe for concurrent use and return when
// ctx ends.
type Cluster interface {
	Node(ctx context.Context, name string) (*corev1.Node, error)
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
	ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)
	PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error)
	PersistentVolume(ctx context.Context, name string) (*corev1.PersistentVolume, error)
	// PodsOn returns the pods that are bound to a node, the newest first. It may omit pods that
	// have ended. Callers may read only the fields that identify a pod, its creation time and its
	// volumes.
	PodsOn(ctx context.Context, node string) ([]*corev1.Pod, error)
	// CSIDriver may return an object that is a few seconds old.
	CSIDriver(ctx context.Context, name string) (*storagev1.CSIDriver, error)

	// BoundTo returns the node that the pod with this UID is bound to. A pod is bound only once, so
	// an implementation may cache the answer, even after the pod is deleted. If no pod with that
	// UID was ever seen, the error has the code 404.
	BoundTo(ctx context.Context, namespace, name string, uid types.UID) (node string, err error)
	// Count returns how many objects of that kind there are for the node. It returns at most limit,
	// which must be positive.
	Count(ctx context.Context, what Counted, node string, limit int) (int, error)
	// PoolUser returns a user of a driver's device pool. It ignores the node that is named by the
	// parameter but. The result is the name of a node, or [NoNode] for a slice that does not belong
	// to one node. It is empty if no other node has a ResourceSlice in that pool.
	PoolUser(ctx context.Context, driver, pool string, but string) (node string, err error)
	// SigningRequests returns how many CertificateSigningRequests for those signers the node has
	// created. It returns at most limit. The count may be half a minute old, and older while the
	// API server is not reachable. Requests that this process has counted since then are included.
	// If adds is true and the count is below limit, SigningRequests also counts one more request.
	// It makes no API call.
	SigningRequests(node string, of Signers, limit int, adds bool) int
	// AddressOwner returns the name of a Node whose status has the address. It ignores the Node
	// that is named by the parameter but. It returns "" if there is none. The answer may be a few
	// seconds old.
	AddressOwner(ctx context.Context, address string, but string) (node string, err error)
	// ServiceWith returns the Service that has ip as a cluster IP. ip is in the form of
	// nodeaddress.Canonical. ServiceWith returns "" if no Service has it.
	ServiceWith(ctx context.Context, ip string) (service string, err error)
	// APIServer returns the names and addresses at which clients reach the API servers, in the form
	// of nodeaddress.Canonical.
	APIServer(ctx context.Context) ([]string, error)
	// History returns the taints that were last seen on a Node of that name. The Node may be
	// deleted. The result is the zero value if no taint is recorded.
	History(ctx context.Context, node string) (NodeHistory, error)
	// LastReported returns the last addresses, port and host name that a Node of that name
	// reported. The Node may be deleted. The result is the zero value if it never reported any.
	LastReported(ctx context.Context, node string) (Reported, error)
	// LastJoined returns when the newest request of a bootstrapper for the client certificate of that
	// node was created, if it was approved. It returns the zero time if there is none. Such requests
	// are deleted after an hour.
	LastJoined(ctx context.Context, node string) (time.Time, error)
	// ProviderIDOwner returns the name of a Node that has the providerID. It ignores the Node that
	// is named by the parameter but. It returns "" if there is none. The answer may be a few
	// seconds old.
	ProviderIDOwner(ctx context.Context, id string, but string) (node string, err error)
}

// NoNode is the result of [Cluster.PoolUser] for a slice that does not belong to one node. It is
// not a valid node name.
const NoNode = "<none>"

// Counted is a kind of object of which each node may create only a limited number.
type Counted int

// The kinds that are counted.
const (
	MirrorPods Counted = iota
	ResourceSlices
	PodCertificateRequests
)

// NodeHistory is the recorded state of a Node that remains after the Node is deleted. It is stored
// where nodes cannot write.
type NodeHistory struct {
	// Taints are the taints that were last seen on the Node and whose keys the operator marked as
	// sticky.
	Taints []corev1.Taint
	// UID is the UID of the Node that was seen last. It is empty if no taint is recorded.
	UID types.UID
	// Absent are those of Taints that were missing when the current or last Node was registered.
	Absent []corev1.Taint
	// InitialTaints are those of Taints that a Node was registered with. Its node may have chosen
	// them. The other taints were added later. A node can do that only if the operator lets it.
	InitialTaints []corev1.Taint
}

// Reported says where a Node reports that its kubelet is.
type Reported struct {
	// Addresses are the last addresses that were not empty. KubeletPort is the last port that was
	// not 0. A new Node without them does not replace them, because the machine has not moved.
	Addresses   []corev1.NodeAddress
	KubeletPort int32
	// Hostname is the last value of the label kubernetes.io/hostname.
	Hostname string
	// Created is when the Node with these addresses was created, and PortCreated when the Node with
	// this port was.
	Created, PortCreated time.Time
}

// Authorizer says whether an administrator has granted a node a right.
type Authorizer interface {
	// Allowed asks with all attributes of the user: name, UID, groups and extra. An error means
	// that the answer is not known.
	Allowed(ctx context.Context, who user.Info, right Right) (bool, error)
}

// Right is the access that Bulkhead asks the API server's authorizers about.
type Right struct {
	Verb, Group, Version, Resource, Namespace, Name string
}

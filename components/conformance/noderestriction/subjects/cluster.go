// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// cluster has the same objects as upstream's listers, and reads them with the same listers.
type cluster struct {
	nodes    corelisters.NodeLister
	pods     corelisters.PodLister
	accounts corelisters.ServiceAccountLister
	claims   corelisters.PersistentVolumeClaimLister
	volumes  corelisters.PersistentVolumeLister
	drivers  storagelisters.CSIDriverLister
}

func newCluster(o *objects) cluster {
	core := o.Core().V1()
	return cluster{
		core.Nodes().Lister(),
		core.Pods().Lister(),
		core.ServiceAccounts().Lister(),
		core.PersistentVolumeClaims().
			Lister(),
		core.PersistentVolumes().Lister(),
		o.Storage().V1().CSIDrivers().Lister(),
	}
}

// asked returns the answer as the API server gives it. For a missing object, the API server names
// the resource, while a lister names the kind.
func asked[T any](object T, err error, group, resource, name string) (T, error) {
	if err != nil && apierrors.IsNotFound(err) {
		return object, apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: resource}, name)
	}
	return object, err
}

func (c cluster) Node(_ context.Context, name string) (*corev1.Node, error) {
	node, err := c.nodes.Get(name)
	return asked(node, err, "", "nodes", name)
}

func (c cluster) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	pod, err := c.pods.Pods(namespace).Get(name)
	return asked(pod, err, "", "pods", name)
}

func (c cluster) ServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	account, err := c.accounts.ServiceAccounts(namespace).Get(name)
	return asked(account, err, "", "serviceaccounts", name)
}

func (c cluster) PersistentVolumeClaim(
	_ context.Context,
	namespace, name string,
) (*corev1.PersistentVolumeClaim, error) {
	claim, err := c.claims.PersistentVolumeClaims(namespace).Get(name)
	return asked(claim, err, "", "persistentvolumeclaims", name)
}

func (c cluster) PersistentVolume(_ context.Context, name string) (*corev1.PersistentVolume, error) {
	volume, err := c.volumes.Get(name)
	return asked(volume, err, "", "persistentvolumes", name)
}

func (c cluster) CSIDriver(_ context.Context, name string) (*storagev1.CSIDriver, error) {
	driver, err := c.drivers.Get(name)
	return asked(driver, err, storagev1.GroupName, "csidrivers", name)
}

// Allowed accepts an allow decision even if an authorizer had an error. Upstream's plugin and
// node-restriction's Cluster do the same.
func (o *objects) Allowed(_ context.Context, who user.Info, right noderestriction.Right) (bool, error) {
	decision, err := o.grant(who, right)
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	return false, err
}

// errOptional is the error for lookups that only optional rules need. These rules are off in this
// test, so such a lookup must not happen.
var errOptional = errors.New("asked by an optional rule")

func (cluster) Namespace(context.Context, string) (*corev1.Namespace, error) { return nil, errOptional }

func (cluster) BoundTo(context.Context, string, string, types.UID) (string, error) {
	return "", errOptional
}

func (cluster) Count(context.Context, noderestriction.Counted, string, int) (int, error) {
	return 0, errOptional
}

func (cluster) PodsOn(context.Context, string) ([]*corev1.Pod, error) { return nil, errOptional }

func (cluster) PoolUser(context.Context, string, string, string) (string, error) {
	return "", errOptional
}

func (cluster) SigningRequests(string, noderestriction.Signers, int, bool) int { return 0 }

func (cluster) AddressOwner(context.Context, string, string) (string, error) { return "", errOptional }

func (cluster) ProviderIDOwner(context.Context, string, string) (string, error) {
	return "", errOptional
}

func (cluster) ServiceWith(context.Context, string) (string, error) { return "", errOptional }

func (cluster) APIServer(context.Context) ([]string, error) { return nil, errOptional }

func (cluster) LastReported(context.Context, string) (noderestriction.Reported, error) {
	return noderestriction.Reported{}, errOptional
}

func (cluster) LastJoined(context.Context, string) (time.Time, error) {
	return time.Time{}, errOptional
}

func (cluster) History(context.Context, string) (noderestriction.NodeHistory, error) {
	return noderestriction.NodeHistory{}, errOptional
}

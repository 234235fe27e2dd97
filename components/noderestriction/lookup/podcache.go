// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// MaxBound is the number of pods whose node is cached.
	MaxBound = 50_000
	// maxDrivers is more than clusters have.
	maxDrivers = 200
	driverAge  = 5 * time.Second
)

// bound caches which node a pod is bound to. When it is full, it removes the least recently used
// pod.
type bound struct{ pods *lru.Cache }

type podIdentity struct {
	namespace, name string
	uid             types.UID
}

func newBound() *bound { return &bound{lru.New(MaxBound)} }

// see caches only bound pods: a pod that is not bound may be bound later.
func (b *bound) see(pod *corev1.Pod) {
	if pod.Spec.NodeName != "" && pod.UID != "" {
		b.pods.Add(podIdentity{pod.Namespace, pod.Name, pod.UID}, pod.Spec.NodeName)
	}
}

func (b *bound) node(pod podIdentity) string {
	value, _ := b.pods.Get(pod)
	node, _ := value.(string)
	return node
}

// BoundTo implements [noderestriction.Cluster]. It returns "" for a pod that is not bound.
func (v *Cluster) BoundTo(ctx context.Context, namespace, name string, uid types.UID) (node string, err error) {
	if node := v.bound.node(podIdentity{namespace, name, uid}); node != "" {
		v.metrics.remembered("pods")
		return node, nil
	}
	pod, err := v.Pod(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	if uid == "" || pod.UID != uid {
		return "", apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	return pod.Spec.NodeName, nil
}

// drivers caches CSIDrivers for driverAge.
type drivers struct{ byName *cache.LRUExpireCache }

func newDrivers(timer clock.PassiveClock) *drivers {
	return &drivers{cache.NewLRUExpireCacheWithClock(maxDrivers, timer)}
}

func (d *drivers) put(driver *storagev1.CSIDriver) { d.byName.Add(driver.Name, driver, driverAge) }

func (d *drivers) get(name string) *storagev1.CSIDriver {
	value, _ := d.byName.Get(name)
	driver, _ := value.(*storagev1.CSIDriver)
	return driver
}

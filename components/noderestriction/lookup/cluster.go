// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

var (
	_ noderestriction.Cluster    = &Cluster{}
	_ noderestriction.Authorizer = &Cluster{}
)

// Config has the dependencies of a [Cluster]. CountsSigningRequests and Clock may be nil. All other
// fields are required.
type Config struct {
	// Client and Metadata connect to the same API server. Neither may have a client-side rate
	// limit.
	Client      kubernetes.Interface
	Metadata    metadata.Interface
	NodeHistory NodeHistory
	Registry    metrics.KubeRegistry
	// CountsSigningRequests is called before CertificateSigningRequests are listed. It reports
	// whether a rule needs their count. If it is nil, they are always counted.
	CountsSigningRequests func() bool
	// Clock is the real clock if it is nil. Timeouts of calls always use the real clock.
	Clock clock.PassiveClock
}

// NodeHistory implements the methods of [noderestriction.Cluster] that need watched or recorded
// Nodes.
type NodeHistory interface {
	AddressOwner(ctx context.Context, address string, but string) (node string, err error)
	History(ctx context.Context, node string) (noderestriction.NodeHistory, error)
	LastReported(ctx context.Context, node string) (noderestriction.Reported, error)
	ProviderIDOwner(ctx context.Context, id string, but string) (node string, err error)
}

// Cluster looks up objects in one API server. Use [New]. It is safe for concurrent use.
type Cluster struct {
	NodeHistory
	client   kubernetes.Interface
	metadata metadata.Interface
	metrics  *recorder
	flights  flights
	bound    *bound
	drivers  *drivers
	// lookupTimeout limits the time of an answer. callTimeout limits the time of an API call.
	lookupTimeout, callTimeout time.Duration
	// lists limits how many lists run at the same time.
	lists *semaphore.Weighted
	// podLists limits how many lists of whole pods run at the same time.
	podLists *semaphore.Weighted
	// Run updates signing, if wantsCount is nil or returns true.
	signing    signingRequests
	wantsCount func() bool
	// unreached is the error of the last check, or "" if the API server was reachable.
	unreached atomic.Pointer[string]
}

// New returns a Cluster and registers its metrics. It makes no API call.
func New(config Config) *Cluster {
	timer := config.Clock
	if timer == nil {
		timer = clock.RealClock{}
	}
	v := &Cluster{
		NodeHistory:   config.NodeHistory,
		client:        config.Client,
		metadata:      config.Metadata,
		metrics:       newRecorder(config.Registry),
		bound:         newBound(),
		drivers:       newDrivers(timer),
		lookupTimeout: lookupTimeout, callTimeout: callTimeout,
		lists:      semaphore.NewWeighted(maxLists),
		podLists:   semaphore.NewWeighted(maxPodLists),
		wantsCount: config.CountsSigningRequests,
	}
	v.unreached.Store(&untried)
	return v
}

// Node implements [noderestriction.Cluster].
func (v *Cluster) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return get(ctx, v, "", inCluster("nodes", name), v.client.CoreV1().Nodes().Get)
}

// Pod implements [noderestriction.Cluster].
func (v *Cluster) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	asked := inNamespace("pods", namespace, name)
	pod, err := get(ctx, v, "", asked, v.client.CoreV1().Pods(namespace).Get)
	if err == nil {
		v.bound.see(pod)
	}
	return pod, err
}

// Namespace implements [noderestriction.Cluster].
func (v *Cluster) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return get(ctx, v, "", inCluster("namespaces", name), v.client.CoreV1().Namespaces().Get)
}

// ServiceAccount implements [noderestriction.Cluster].
func (v *Cluster) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	asked := inNamespace("serviceaccounts", namespace, name)
	return get(ctx, v, "", asked, v.client.CoreV1().ServiceAccounts(namespace).Get)
}

// PersistentVolumeClaim implements [noderestriction.Cluster].
func (v *Cluster) PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim,
	error) {
	asked := inNamespace("persistentvolumeclaims", namespace, name)
	return get(ctx, v, "", asked, v.client.CoreV1().PersistentVolumeClaims(namespace).Get)
}

// PersistentVolume implements [noderestriction.Cluster].
func (v *Cluster) PersistentVolume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	return get(ctx, v, "", inCluster("persistentvolumes", name), v.client.CoreV1().PersistentVolumes().Get)
}

// CSIDriver implements [noderestriction.Cluster]. It may return an object that is up to 5 seconds
// old.
func (v *Cluster) CSIDriver(ctx context.Context, name string) (*storagev1.CSIDriver, error) {
	asked := inCluster("csidrivers", name)
	if driver := v.drivers.get(name); driver != nil {
		v.metrics.remembered(asked.kind)
		return driver, nil
	}
	driver, err := get(ctx, v, storagev1.GroupName, asked, v.client.StorageV1().CSIDrivers().Get)
	if err == nil {
		v.drivers.put(driver)
	}
	return driver, err
}

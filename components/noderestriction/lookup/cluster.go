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

// Config is what a [Cluster] is made of. All but the clock is needed.
type Config struct {
	// Client and Metadata reach the same API server, and do not limit their rate.
	Client      kubernetes.Interface
	Metadata    metadata.Interface
	NodeHistory NodeHistory
	Registry    metrics.KubeRegistry
	// CountsSigningRequests is asked before certificate signing requests are listed,
	// whether somebody wants to know how many there are; always if it is nil.
	CountsSigningRequests func() bool
	// Clock is the real one if it is nil. Calls are always timed in real time.
	Clock clock.PassiveClock
}

// NodeHistory answers the questions of [noderestriction.Cluster] that no object in the
// API server answers now.
type NodeHistory interface {
	AddressOwner(ctx context.Context, address string, but string) (node string, err error)
	History(ctx context.Context, node string) (noderestriction.NodeHistory, error)
	LastReported(ctx context.Context, node string) (noderestriction.Reported, error)
	ProviderIDOwner(ctx context.Context, id string, but string) (node string, err error)
}

// Cluster answers from one API server. Use [New]. It is safe for concurrent use.
type Cluster struct {
	NodeHistory
	client   kubernetes.Interface
	metadata metadata.Interface
	metrics  *recorder
	flights  flights
	bound    *bound
	drivers  *drivers
	// patience and callTimeout bound each answer.
	patience, callTimeout time.Duration
	// lists bounds the lists in the air.
	lists *semaphore.Weighted
	// podLists bounds the lists of whole pods in the same way.
	podLists *semaphore.Weighted
	// signing is kept by Run, if wantsTally says so.
	signing    signingRequests
	wantsTally func() bool
	// unreached is why the API server could not be reached when that was tried last.
	unreached atomic.Pointer[string]
}

// New makes a Cluster and registers its metrics. It calls nobody.
func New(config Config) *Cluster {
	timer := config.Clock
	if timer == nil {
		timer = clock.RealClock{}
	}
	v := &Cluster{
		NodeHistory: config.NodeHistory,
		client:      config.Client,
		metadata:    config.Metadata,
		metrics:     newRecorder(config.Registry),
		bound:       newBound(),
		drivers:     newDrivers(timer),
		patience:    patience, callTimeout: callTimeout,
		lists:      semaphore.NewWeighted(maxLists),
		podLists:   semaphore.NewWeighted(maxPodLists),
		wantsTally: config.CountsSigningRequests,
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

// CSIDriver implements [noderestriction.Cluster]. It may be a few seconds behind.
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

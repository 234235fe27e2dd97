// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sides

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// recorder is a cluster that keeps what it was asked, so that it can be asked again.
type recorder struct {
	cluster
	all *[]func()
}

func (r recorder) keep(lookUp func()) { *r.all = append(*r.all, lookUp) }

func (r recorder) Node(ctx context.Context, name string) (*corev1.Node, error) {
	r.keep(func() { _, _ = r.cluster.Node(ctx, name) })
	return r.cluster.Node(ctx, name)
}

func (r recorder) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	r.keep(func() { _, _ = r.cluster.Pod(ctx, namespace, name) })
	return r.cluster.Pod(ctx, namespace, name)
}

func (r recorder) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	r.keep(func() { _, _ = r.cluster.ServiceAccount(ctx, namespace, name) })
	return r.cluster.ServiceAccount(ctx, namespace, name)
}

func (r recorder) PersistentVolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	r.keep(func() { _, _ = r.cluster.PersistentVolumeClaim(ctx, namespace, name) })
	return r.cluster.PersistentVolumeClaim(ctx, namespace, name)
}

func (r recorder) PersistentVolume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	r.keep(func() { _, _ = r.cluster.PersistentVolume(ctx, name) })
	return r.cluster.PersistentVolume(ctx, name)
}

func (r recorder) CSIDriver(ctx context.Context, name string) (*storagev1.CSIDriver, error) {
	r.keep(func() { _, _ = r.cluster.CSIDriver(ctx, name) })
	return r.cluster.CSIDriver(ctx, name)
}

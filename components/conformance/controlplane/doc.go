// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package controlplane starts etcd and kube-apiserver with the objects of a large cluster, and
// Bulkhead's programs with them.
package controlplane

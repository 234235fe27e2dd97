// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package againstupstream holds the node authorizer against the in-tree one of
// Kubernetes, in one process: what both decide, and how fast. It is a module of
// its own, so that nobody who uses Bulkhead depends on k8s.io/kubernetes.
package againstupstream

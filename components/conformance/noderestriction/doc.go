// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package againstupstream holds node-restriction against the in-tree plugin of
// Kubernetes, in one process: what both admit, and how fast. It is a module of its
// own, so that nobody who uses Bulkhead depends on k8s.io/kubernetes.
package againstupstream

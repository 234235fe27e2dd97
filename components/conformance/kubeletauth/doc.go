// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package againstupstream holds the mapping of kubeletauth against the kubelet's own
// HTTP server, in one process: its routes, what it asks its authorizer about, and
// which request gets as far as a container. It is a module of its own, so that nobody
// who uses Bulkhead depends on k8s.io/kubernetes.
package againstupstream

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletauth compares the mapping of the kubelet's API with the kubelet's own HTTP server:
// its routes, the rights that it asks its authorizer for, and the requests that reach a container.
// It contains only tests.
package kubeletauth

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletauth compares the mapping of the kubelet's API with the kubelet's own HTTP
// server: its routes, what it asks its authorizer, and which request reaches a container.
// It has tests only.
package kubeletauth

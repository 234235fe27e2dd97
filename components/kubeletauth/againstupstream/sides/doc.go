// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package sides runs what is measured, each in a process of its own: a stand-in for a
// kubelet, and in front of it kubelet-auth-proxy and a bare reverse proxy.
package sides

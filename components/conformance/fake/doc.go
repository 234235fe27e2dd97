// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package fake has a kubelet and a kube-apiserver for measurements of kubelet-auth-proxy: bodies of
// a fixed size, streams, and reviews that allow everything. It also has the bare reverse proxy that
// kubelet-auth-proxy is compared with.
package fake

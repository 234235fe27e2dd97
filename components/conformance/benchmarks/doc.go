// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package benchmarks measures the parts of Bulkhead that a caller sees: reviews over loopback,
// requests and streams through kubelet-auth-proxy, memory, and the time until ready. Each benchmark
// has two subjects. "bulkhead" is the real program in a separate process. The other is "in-tree",
// the code of Kubernetes behind the same server, or "bare", the standard library's reverse proxy.
// `benchstat -col /subject` compares them.
package benchmarks

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package benchmarks measures what a caller of Bulkhead sees: reviews over loopback, requests
// and streams through kubelet-auth-proxy, memory, and the time to be ready. Each benchmark
// has a subject "bulkhead", which is the real program in a process of its own, and one that
// it is compared with: "in-tree", the code of Kubernetes behind the same server, or "bare",
// the standard library's reverse proxy. `benchstat -col /subject` compares them.
package benchmarks

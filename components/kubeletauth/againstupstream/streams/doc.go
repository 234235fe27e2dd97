// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package streams measures what lasts, through kubelet-auth-proxy, through a bare
// reverse proxy and without a proxy: how much is carried, and what a stream that
// carries nothing takes.
package streams

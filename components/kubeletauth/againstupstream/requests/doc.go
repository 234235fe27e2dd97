// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package requests measures ordinary requests through kubelet-auth-proxy, through a
// bare reverse proxy and without a proxy: how long they take, alone and among others,
// and what they cost the proxy.
package requests

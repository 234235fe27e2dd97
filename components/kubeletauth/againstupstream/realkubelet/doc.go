// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package realkubelet measures a kubelet of a cluster in which kubelet-auth-proxy is
// installed: through the proxy, and on loopback as the proxy asks it.
package realkubelet

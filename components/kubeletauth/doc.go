// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletauth decides which rights a request to the kubelet's API needs.
//
// The kubelet asks its authorizer about a verb and a subresource of nodes. The HTTP method gives
// the verb, and the first segment of the path gives the subresource. A path without its own
// subresource is nodes/proxy: this includes exec, attach and portForward. A websocket begins with
// GET. So the right to read through nodes/proxy is the right to execute (pkg/kubelet/server/auth.go
// GetRequestAttributes, kubernetes/kubernetes#119640).
//
// # How a request is mapped
//
//  1. If the method is for the proxy itself, the request is denied (KA-METHOD-1).
//  2. If the path is ambiguous, the request is denied (KA-PATH). So Bulkhead, the kubelet's
//     authorizer and the kubelet's handlers all see the same first segment.
//  3. The first segment selects the endpoint. The endpoint gives the rule, the subresources, and
//     the meaning of the rest of the path.
//  4. The mode selects the rights: in [Compat] those that the kubelet would ask for, in [Strict]
//     those that [Mode.Map] describes. A [Policy] selects the mode for each rule.
//
// Other packages authenticate the user, check the rights, and forward the request. But the table of
// all rules of the kubelet's API, [Rules], is in this package.
package kubeletauth

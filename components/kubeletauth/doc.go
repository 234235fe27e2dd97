// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletauth decides which rights a request to the kubelet's API needs.
//
// The kubelet asks its authorizer about a verb, which the HTTP method gives, and a
// subresource of nodes, which the first segment of the path gives. Whatever has no
// subresource of its own is nodes/proxy, and that is where exec, attach and
// portForward are. A websocket begins with GET, so the right to read through
// nodes/proxy is the right to execute
// (pkg/kubelet/server/auth.go GetRequestAttributes, kubernetes/kubernetes#119640).
//
// # How a request is mapped
//
//  1. The method is one that is for the proxy itself: refused (KA-METHOD-1).
//  2. The path could be read in two ways: refused (KA-PATH). So the first segment is
//     the same for us, for the kubelet's authorizer and for the kubelet's handlers.
//  3. The first segment chooses the endpoint, and with it the rule, the subresources,
//     and what the path names.
//  4. The mode chooses what is asked for: in [Compat] what the kubelet would ask for,
//     in [Strict] what [Mode.Map] promises. A [Policy] chooses rule by rule.
//
// Who is asking, whether they have the rights, and what becomes of the request is for
// others; but the table of all rules of the kubelet's API, [Rules], is here.
package kubeletauth

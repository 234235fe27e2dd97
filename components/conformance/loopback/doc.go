// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package loopback has both ends of a webhook call as kube-apiserver makes it: client-go, JSON,
// HTTP/2 and mutual TLS on loopback. Its servers answer with the in-tree authorizer and plugin,
// behind the same server code that Bulkhead's webhooks use.
package loopback

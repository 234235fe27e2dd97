// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package loopback measures what one SubjectAccessReview costs its caller: over
// loopback, with HTTP/2, mutual TLS 1.3, and JSON both ways.
//
// The node authorizer's handler is held against one on the same server code that
// decodes nothing and answers a constant. The caller is client-go, as in
// kube-apiserver, and shares the machine with the server.
package loopback

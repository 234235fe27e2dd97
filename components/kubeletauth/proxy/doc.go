// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package proxy serves a kubelet's API behind authentication and authorization.
//
// A request passes these steps:
//
//	listener → shape → path → authentication → authorization → limits → body → audit → kubelet
//
// The check of the shape uses headers alone. It denies what no client of a kubelet needs: a
// body of unknown length, an upgrade to a protocol other than SPDY/3.1 and websocket, a
// certificate of hundreds of kilobytes. Until a request over it is allowed, a connection has
// one of few slots, for a short time, and may send little. Only the body of an allowed request
// is read. [Config] has the policy; denials have the kubelet's text
// (pkg/kubelet/server/server.go InstallAuthFilter).
//
// Credentials, and headers with which a client claims an identity, are not forwarded. The
// kubelet accepts the proxy's client certificate only.
//
// A stream can last: exec, attach, port forwarding, followed logs. The proxy checks access
// again while it lasts, and ends it when it is idle for too long.
package proxy

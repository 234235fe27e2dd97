// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package proxy serves a kubelet's API behind authentication and authorization.
//
// A request passes these steps:
//
//	listener → shape → path → authentication → authorization → limits → body → audit → kubelet
//
// The shape check uses only the headers. It denies requests that no client of a kubelet needs: a
// body of unknown length, or an upgrade to a protocol other than SPDY/3.1 and websocket.
// Certificates that are too large are already rejected in the handshake. Until a request over it is
// allowed, a connection has one of a few slots, for a short time, and may send few bytes. The proxy
// reads only the body of an allowed request. [Config] contains the policy. Denials have the
// kubelet's text (pkg/kubelet/server/server.go InstallAuthFilter).
//
// Credentials, and headers in which a client claims an identity, are not forwarded. The kubelet
// accepts only the proxy's client certificate.
//
// A stream can be long-lived: exec, attach, port forwarding, followed logs. The proxy rechecks
// access during a stream, and ends a stream that is idle for too long.
package proxy

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package proxy puts authentication and authorization in front of a kubelet's API.
//
// One request goes through it as
//
//	listener → shape → path → who → which rights → places → body → audit → kubelet on loopback
//
// Shape is what no client of a kubelet needs: a body of unknown length, an upgrade
// to anything but SPDY/3.1 or websocket, a certificate of hundreds of kilobytes. It is
// judged by headers alone. Until a request over it was let through, a connection is one
// of few, for a short time, and may send little; no body is read before that.
// The rest is decided by what [Config] is given; this package turns HTTP into those
// questions and the answers into HTTP, in the kubelet's own words
// (pkg/kubelet/server/server.go InstallAuthFilter).
//
// What the caller shows to prove itself, or says about itself, goes no further: the
// kubelet is called with a client certificate of the proxy's own, and accepts no
// other.
//
// A stream is what can last: exec, attach, port forwarding, logs that are followed.
// Access is asked about again while it lasts, and it ends when it is idle for too
// long.
package proxy

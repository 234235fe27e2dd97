// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package serve runs a webhook on loopback. One listener with mutual TLS serves kube-apiserver. One
// listener without TLS serves the kubelet's probes and metrics scrapers.
//
// The webhook accepts only TLS 1.3. It accepts only clients whose certificate is signed by the
// client CA and whose common name is listed. Certificates are reloaded when their files change, by
// a write or by a rename of a file or a directory. If new files do not parse, or do not match, the
// last good ones stay in use.
package serve

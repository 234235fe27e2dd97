// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package serve runs a webhook on loopback: one listener with mutual TLS for
// kube-apiserver, and one without for the kubelet's probes and a metrics scraper.
//
// Only TLS 1.3 and only clients whose certificate the client CA signed and whose
// common name is listed. Certificates are read again when their files change, by
// rewrite or by rename of a file or a directory; what does not parse, or does not
// belong together, leaves the last good one in place.
package serve

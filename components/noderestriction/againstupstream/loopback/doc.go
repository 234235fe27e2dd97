// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package loopback times AdmissionReviews over HTTP/2 and mutual TLS on loopback:
// node-restriction's handler against one on the same server code that decodes the
// same bytes and admits.
package loopback

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package customread reads of a custom resource, as it is now, which node it belongs to.
//
// Who asks is a pod that may be hostile, and may ask often. So every node has a share of
// the reads in the air, a read ends after a second, and no object is read that is larger
// than an API server stores. What cannot be read is an error, which denies.
package customread

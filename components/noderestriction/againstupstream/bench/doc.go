// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench times node-restriction and the in-tree plugin at the same writes, in
// one process and in the same run.
package bench

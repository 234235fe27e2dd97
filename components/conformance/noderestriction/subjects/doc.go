// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package subjects has upstream's plugin and node-restriction. Both see the same cluster and answer
// the same writes.
package subjects

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package sides has upstream's plugin and our policy look at the same world and
// answer the same writes.
package sides

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package load makes calls at full load, or at moments of its own choice, and times
// each.
package load

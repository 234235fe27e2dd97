// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package report turns measurements into docs/performance.md: medians and their
// spread, a table that holds them against a bar, and the curves of growth.
//
// It measures nothing itself.
package report

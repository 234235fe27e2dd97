// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package generator creates small random clusters and writes to them: valid writes as kubelets send
// them, the same writes with a mistake, and any other writes.
//
// It knows which objects name each other, but not which user may write what: the two subjects of a
// comparison decide that. All choices come from a [harness.RNG]. So a seed, or the bytes of a
// fuzzer, always produce the same cluster and writes.
package generator

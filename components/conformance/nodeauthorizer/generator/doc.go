// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package generator creates small random clusters and events in them: pods, volumes, attachments,
// slices and certificate requests that are created, changed and deleted, watches that break and
// recover, and requests about all of these.
//
// It knows which objects name each other, but not which user may access what: the two subjects of a
// comparison decide that. All choices come from a [harness.RNG]. So a seed, or the bytes of a
// fuzzer, always produce the same cluster. Steps and requests are printed as Go code ([Literal]),
// so that they can be kept as a test.
package generator

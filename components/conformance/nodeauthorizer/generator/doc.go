// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package generator makes small random clusters, and what happens in them: pods, volumes,
// attachments, slices and certificate requests that come, change and go, watches
// that break and mend, and requests about all of it.
//
// It knows how objects name each other, but nothing of who may see what: that is
// for the two subjects of a comparison to say. Everything is drawn from a [harness.RNG],
// so that a seed, or the bytes of a fuzzer, always make the same cluster. Steps
// and requests print as Go ([Literal]), ready to be kept as a test.
package generator

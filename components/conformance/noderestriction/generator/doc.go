// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package generator makes small random clusters, and writes to them: whole ones as kubelets
// send them, the same with something wrong, and any other.
//
// It knows how objects name each other, but nothing of who may write what: that is
// for the two subjects of a comparison to say. Everything is drawn from a [harness.RNG], so
// that a seed, or the bytes of a fuzzer, always make the same cluster and writes.
package generator

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness runs a differential test: two subjects answer the same random questions, and
// every difference that is not a known one fails the test. It contains the source of randomness
// ([RNG]), the loop over seeds and feature gates ([Suite]), shrinking ([Shrink]), and the check
// that docs/differences.md lists every known difference ([CheckDocumented]).
package harness

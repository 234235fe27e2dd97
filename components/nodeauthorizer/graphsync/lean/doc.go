// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package lean watches objects without decoding the fields that are not used.
//
// A hundred thousand pods take half a gigabyte, of which the graph needs a tenth. Decoding and
// garbage collection of the rest took most of the time of a first list. So the package removes
// unused fields from every watch event before it is decoded. It identifies fields by their protobuf
// field numbers.
//
// The decoded object always contains every field that is used. If the package does not understand
// some input, it leaves the input unchanged for the decoder. It does not check removed fields, so a
// malformed removed field causes no error.
//
// Source: the protobuf encoding, https://protobuf.dev/programming-guides/encoding, and the field
// numbers in the Kubernetes API types.
package lean

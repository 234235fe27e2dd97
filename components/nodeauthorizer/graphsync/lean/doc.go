// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package lean watches objects without what nobody reads of them.
//
// A hundred thousand pods are half a gigabyte, of which the graph needs a tenth. To
// decode the rest and to collect it again took most of the time of a first list. So
// fields that are not read are left out of every event of a watch before it is
// decoded, by their numbers on the wire.
//
// What is decoded in the end is never less than what is read, and whatever is not
// understood here stays as it is, for the decoder to judge. What is left out is not
// looked into: an object that is broken there is not refused for it.
//
// Source: the protobuf encoding, https://protobuf.dev/programming-guides/encoding,
// and the numbers of fields that the API's own types state.
package lean

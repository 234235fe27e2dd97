// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package lookup answers what the rules of noderestriction ask about other
// objects than the one that is written: from the API server as it is now.
//
// # Everything is read live
//
// There is no informer. A rule that refuses, or admits, because of another object
// does so by what a read that began after its question said, without a resource
// version, so that it is as consistent as the API server's store. Nothing has to
// be kept of a hundred thousand pods, and there is no moment at which the view is
// behind.
//
// Three things are remembered. The node that a pod is bound to never changes, so it
// is kept for the pods that were asked about last: at most [MaxBound], which take
// less than 20 MB. A CSIDriver, which an administrator changes once in a year, may be
// a few seconds old. And certificate signing requests are counted about every 30 s:
// they cannot be selected by who made them.
//
// # What it costs
//
// An answer takes at most a second, then it is not known. Reads of one object are
// shared: whoever asks joins a read that has yet to begin, and of those there is
// never more than one for each object beside the one that is in the air. So a
// flood of writes that all ask about one name costs one read after the other. A
// read for which nobody waits any more is broken off; so there are never more in
// the air than requests being decided, which the transport bounds.
//
// Lists are for counting, for the pods of one node, and for who uses a pool of
// devices. They are read page by page, fetch only metadata or the columns of a table
// where that is enough, and end at what was asked for or at [MaxCounted] objects; only
// a few are in the air at one time.
package lookup

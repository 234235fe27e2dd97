// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package livelookup reads from the API server before a node's request is denied for a missing
// relation. It passes the result to the view, so that a watch that lags behind does not cause a
// wrong denial.
//
// # What is read
//
// The package reads the pods of the node, in one list. For an object that is related to a node
// without a pod, it reads that object by name. For a volume or a volume claim, it reads both. All
// reads are consistent (without a resource version), so a result is at least as new as the start of
// the read.
//
// # Sharing of reads
//
// A result is useful only to callers that arrived before the read began. So each caller joins a
// read that has not begun yet. For the same object or list, at most one read waits to begin and at
// most one is in flight. Any number of callers about the pods of a node causes one list after the
// other. A caller waits for one and a half lists on average.
//
// # Budgets
//
// Other users can put a node's name into requests (see the settings of sarwebhook). The budgets limit how
// far such requests can block the node's reads. All callers share the lists of a node's pods, for
// any object. Lists begin at least 50 ms apart. Callers that arrive in between wait for the next
// list and are not refused, unless too many callers already wait. Reads by name cannot be shared
// between different names. Each node has its own token bucket for them, and only part of its
// callers may wait for them.
//
// For all nodes together, the number of reads in flight and the number of reads that begin in a
// second are limited. Reads begin in order of arrival. Each node has at most two reads in that
// queue: a list and a read by name. So one node that floods the authorizer delays a read of another
// node by at most the time of two reads: 10 ms at 200 reads a second. With n such nodes, the delay
// is n times as long. Reads of a Node object that the view does not have pass a smaller queue
// first.
//
// After one second, or if too many callers already wait, the caller gets the reason why no live
// read could confirm the view. [DefaultLimits] has the numbers.
package livelookup

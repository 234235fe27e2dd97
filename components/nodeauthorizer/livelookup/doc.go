// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package livelookup makes sure, before a node is refused something for lack of a
// relationship, that the view is not merely behind: it reads from the API server
// what the relationship would be made of, and hands it to the view.
//
// # What is read
//
// The pods of the node, in one list; for objects that lead to a node by
// themselves, the object by name; for a volume, both. All reads are consistent
// (without a resource version), so an answer is as new as the moment at which the
// read began.
//
// # Reads are shared, exactly
//
// An answer is worth something only to those who asked before the read began. So
// whoever asks joins a read that has yet to begin. There is never more than one
// of those for the same thing, and never more than one in the air: however many
// ask about the pods of a node, they cause one list after the other, and each
// waits for one and a half of them on average.
//
// # Budgets
//
// A node's name can be put into requests by others (sarwebhook.Limits says how),
// so no budget may be such that to use it up takes it from the node. Lists of a
// node's pods are shared by all who ask, whatever they ask about, and begin 50 ms
// apart; those who come in between wait for the next one and are not refused.
// Reads by name cannot be shared by questions about different names; they have a
// bucket for each node, and only a part of those who wait may wait for them.
//
// Of all nodes together, so many reads may be in the air and so many may begin in
// a second. They take their turns in the order in which they came, and no node
// has more than two in that line, a list and a read by name. So one node that
// floods us delays another's read by the time for two at most, 10 ms at 200 a
// second, and n of them by n times that. What is asked about nodes that have no Node object
// has a narrower line before that one.
//
// Whoever has waited for a second, or would be one too many to wait, is told that
// nothing could be confirmed, and why. [DefaultLimits] has the numbers.
package livelookup

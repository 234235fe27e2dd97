// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodehistory remembers of Nodes what must outlive them: the taints that the
// operator marked as sticky, and, while this process runs, their addresses and the label
// kubernetes.io/hostname.
//
// # What is remembered
//
// A marked taint is recorded as soon as it is seen on a Node that is there. It is
// forgotten when it is seen to be gone from that same Node, which is told by its
// UID: a node cannot change taints, so somebody else did. When the Node goes, the
// record stays. A Node that comes after it is registered with the taint, or is known
// to lack it ([noderestriction.NodeHistory]'s Absent) until it has it, or an administrator
// clears the record ([Clear]).
//
// Of the taints that a Node comes with, which its node may have chosen, 16 are
// remembered, and no later ones for them; what is put on a Node that is there, which no
// node can do, has the other 48 places. Nothing that is remembered makes room. A
// Node's record says if it came with more, so that nobody who reads it takes the rest
// for marks of others. A sticky taint that finds no place is counted, and logged once
// a node.
//
// Where a Node was is what its status said last: one that is made anew without a
// status says nothing about it.
//
// What happened while nobody watched is not seen: a taint that was put on a Node and
// went with it while every instance was down, or between two lists.
//
// # Where it is kept
//
// The records are in one ConfigMap, [Name] in [Namespace], a key per node. Nodes
// cannot write ConfigMaps, and may read only those that their pods refer to.
// Instances on several control-plane hosts keep it together: each merges what it
// has seen into what is there, guarded by the resource version; of two records of a
// Node the one that was made from the newer Node wins.
//
// This package makes no ConfigMap, for which its identity has no right: RBAC cannot hold
// that to one name. Where there has been none since the process began, nothing is known
// of taints ([Store.Remembered] fails); one that is deleted later takes nothing away,
// nor does one that is made anew, and what is known is stored in it.
//
// It is bounded: 64 taints a node and 768 KiB in all. What does not fit is held by
// the instances that have seen it as long as they run, counted and logged; nothing
// older is forgotten for it.
package nodehistory

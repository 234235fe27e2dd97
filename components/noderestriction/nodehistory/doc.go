// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodehistory records the state of Nodes that must remain in force after a Node is deleted.
// It stores the taints that the operator marked as sticky. While the process runs, it also keeps
// the addresses, the kubelet port and the label kubernetes.io/hostname of Nodes.
//
// # What is recorded
//
// A sticky taint is recorded when it is seen on a Node. It is removed from the record when it is
// gone from that Node, which is identified by its UID. A node cannot change taints, so another
// client removed it. When the Node is deleted, the record stays. A new Node of that name must be
// registered with the taint. If it was registered without the taint, the taint is listed as absent
// (Absent in [noderestriction.NodeHistory]). It stays absent until the Node has it, or an
// administrator clears the record ([Clear]).
//
// Of the taints that a Node was registered with, at most 16 are recorded, because its node may have
// chosen them. Later ones do not replace them. The other 48 places are for taints that are added to an
// existing Node. A node cannot do that, unless the operator lets it or an account on it change
// taints. A recorded taint is never removed to make space. The
// record says if the Node was registered with more taints, so that no instance treats the rest as
// added by other clients. A sticky taint for which there is no place is counted, and is logged once
// per node.
//
// The last addresses, port and host name are those that the Node last reported. A new Node without
// a status does not replace them.
//
// The package does not see changes while no instance watches. For example, a taint can be added to
// a Node and be deleted with it while every instance is down, or between two lists.
//
// # Where the records are stored
//
// The records are in one ConfigMap, [Name] in [Namespace], with one key per node. Nodes cannot
// write ConfigMaps. They can read only those that their pods refer to. Instances on several
// control-plane hosts share the ConfigMap. Each merges its records into the stored ones. The
// resource version prevents lost updates. If there are two records of a Node, the one that was made
// from the newer Node is used.
//
// This package does not create the ConfigMap. Its identity has no right to do so, because RBAC
// cannot limit create to one name. If the ConfigMap has not existed since the process began, taints
// are unknown and [Store.History] returns an error. If the ConfigMap is deleted or replaced later,
// no record is lost: the known records are stored in the new one.
//
// The size is limited to 64 taints per node and 768 KiB in total. A record that does not fit is
// counted and logged. The instances that made it keep it in memory while they run. No older record
// is removed for it.
package nodehistory

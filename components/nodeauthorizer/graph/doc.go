// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph answers one question for the node authorizer: is this object related to that node?
//
// It is built only from these objects:
//
//	Pod                        pod ──────────────────────────▶ node
//	                           secret, configmap, account and its tokens,
//	                           claim, resourceclaim ──▶ pod
//	PersistentVolume           volume ──▶ claim,  secret ──▶ volume
//	VolumeAttachment           attachment ───────────────────▶ node
//	ResourceSlice              slice ────────────────────────▶ node
//	PodCertificateRequest      request ──────────────────────▶ node
//	CertificateSigningRequest  request ──────────────────────▶ node
//
// An object is related to a node if a path leads from the object to the node. Which fields make
// which edge is taken from Kubernetes 1.37, plugin/pkg/auth/authorizer/node/graph.go. The edge of
// CertificateSigningRequest is an addition of Bulkhead. The graph also records which nodes have a
// Node object.
//
// # Conditions
//
// Some upstream edges are not needed: those of pods that have ended, of accounts that a pod cannot
// use, and of a claim that is not the one that a pod requested. For each such [Condition],
// [Options] selects whether it is ignored, reported, or makes the edge not count. Reported and
// refused paths are the same set, so an audit shows what enforcement will refuse.
//
// # How it is stored
//
// A query searches no path. Every object stores, for each node, how many pods on that node refer to
// it. When a claim becomes related to a node, or stops being related to it, the change is passed on
// to the secrets of the volumes that are bound to the claim. A query for a volume looks up its
// claim. So a query takes three map lookups, for any size of the cluster.
//
// An object to which something refers under a condition is stored as a separate object, with the
// same name and with flags, and with its own counts. A query that does not find the node without
// flags also looks there. So a condition takes no memory in a pod. An account and its tokens always
// have the same references, so they are one object.
//
// Counts cannot differ from edges, because edges are not stored separately. A pod is stored as its
// node and one list of distinct object numbers, including its own. Setting a pod counts each entry
// of the list once. Replacing or deleting the pod removes exactly the same list. The in-tree
// authorizer of 1.36 and 1.37 keeps a set of edges and a counter. If a pod refers to a secret
// twice, it counts the secret twice but removes it once. So it still allows access after the pod is
// gone.
//
// Of a pod, the graph keeps only its UID, that list and whether it has ended. Of a claim, it keeps
// only which pod controls it, if any. It keeps a name only while something refers to it. The memory
// of removed objects is reused.
package graph

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph answers one question for the node authorizer: does this object
// have anything to do with that node?
//
// It is built from the objects that say so and from nothing else:
//
//	Pod                    pod ──────────────────────────────▶ node
//	                       secret, configmap, serviceaccount,
//	                       claim, resourceclaim ──▶ pod
//	PersistentVolume       volume ──▶ claim,  secret ──▶ volume
//	VolumeAttachment       attachment ───────────────────────▶ node
//	ResourceSlice          slice ────────────────────────────▶ node
//	PodCertificateRequest  request ──────────────────────────▶ node
//
// An object is related to a node when a path leads from it to that node. The
// rules of which fields make which edge are those of Kubernetes 1.37,
// plugin/pkg/auth/authorizer/node/graph.go.
//
// # How it is kept
//
// No path is searched when a question is asked. Every object carries, for each
// node, the number of pods on that node that name it; the counts of a claim are
// handed on to the secrets of the volumes bound to it when the claim comes to a
// node or leaves it, and a volume is asked through its claim. A question
// is then three map lookups, whatever the size of the cluster.
//
// Counts cannot drift from edges, because there are no edges beside them: a pod
// is stored as its node and one list of distinct object numbers, its own among
// them. Setting a pod counts each entry of the list once; replacing or deleting
// the pod takes back that very list. The in-tree authorizer of 1.36 and 1.37
// keeps a set of edges and a counter, counts a secret twice that a pod names
// twice, takes it back once, and so keeps answering yes when the pod is gone.
//
// Nothing of a pod is kept but its UID and that list, and a name is kept only as
// long as something refers to it. Room that vanished objects leave is used again.
package graph

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph answers one question for the node authorizer: does this object
// have anything to do with that node?
//
// It is built from the objects that say so and from nothing else:
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
// An object is related to a node when a path leads from it to that node. The
// rules of which fields make which edge are those of Kubernetes 1.37,
// plugin/pkg/auth/authorizer/node/graph.go; the last one is ours. Which nodes
// have a Node object is kept beside it.
//
// # Conditions
//
// Some edges are there upstream and have no use: of pods that have ended, of
// accounts that a pod cannot use, of a claim that is not the one a pod asked for.
// [Options] says of each such [Condition] whether it is ignored, told, or keeps
// the edge from counting. What is told or refused is the same set of paths, so an
// audit tells what enforcing will do.
//
// # How it is kept
//
// No path is searched when a question is asked. Every object carries, for each
// node, the number of pods on that node that name it; the counts of a claim are
// handed on to the secrets of the volumes bound to it when the claim comes to a
// node or leaves it, and a volume is asked through its claim. A question
// is then three map lookups, whatever the size of the cluster.
//
// What is named under a condition is an object of its own, with the same name and
// with flags, and counts for itself: a question that finds the node nowhere else
// looks for it there too. So a condition costs a pod no room, and an account and
// its tokens, which are named together, are one object.
//
// Counts cannot drift from edges, because there are no edges beside them: a pod
// is stored as its node and one list of distinct object numbers, its own among
// them. Setting a pod counts each entry of the list once; replacing or deleting
// the pod takes back that very list. The in-tree authorizer of 1.36 and 1.37
// keeps a set of edges and a counter, counts a secret twice that a pod names
// twice, takes it back once, and so keeps answering yes when the pod is gone.
//
// Nothing of a pod is kept but its UID, that list and whether it has ended; of a
// claim, which pod controls it, if one does. A name is kept only as long as
// something refers to it. Room that vanished objects leave is used again.
package graph

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package graphsync keeps a [graph.Graph] in agreement with an API server.
//
// Each resource has a reflector of its own that writes straight into the graph.
// There is no informer and no cache in between, and a list is taken as it comes, so
// nothing but what the graph keeps is kept of a hundred thousand pods. What no rule
// is decided from is not even decoded (package lean).
//
// # What the view is worth
//
// [Sync.HasSynced] says that every resource has been listed in full once. From then on the
// graph is what the API server's watches have said so far. How far back that may
// be is told by [Sync.Progress]: the time since the API server last said
// anything about a resource, be it a list, an event, a bookmark, or leave for a watch
// to go on. In a quiet, healthy cluster a bookmark comes about once a minute, so
// the age goes up to a little more than that and falls back to nothing; an age of
// several minutes means that the watch is broken.
//
// A view that old is not decided from: [Sync.Unready] says so until something is
// heard again. What the graph holds then may grant a node what it has lost, and
// refuse it what it got since. The first list is a consistent read
// (WatchList, which client-go and Kubernetes 1.37 have on by default). How far
// the API server's watch cache lags behind its store later cannot be seen from
// here.
//
// # Live reads
//
// The watch may be late. What somebody has read from the API server meanwhile is
// taken into the graph by [Sync.Fold], and stays there until the watch comes to
// it. Neither undoes what the other has shown: objects are ordered by their
// resource versions, which Kubernetes promises to be comparable within one
// resource. A deletion is only ever learnt from the watch or from a list of
// everything.
//
// # Pods that have ended
//
// A pod that is first seen to have ended, by a list, an event or a live read, is
// ended in the graph once its grace is over ([Options]). The graph decides what
// that means.
//
// # A server without an API
//
// ResourceSlices and PodCertificateRequests are APIs that a cluster can switch
// off. A caller that knows leaves them out with [Options]. When a server answers
// 404 to listing one of them, nothing of that kind exists on it, an empty view is
// the true one, and HasSynced does not wait. The list is tried again every half
// minute, so that switching the API on needs no restart of ours. Any other error, 403 above all,
// says nothing about what exists: the
// resource is not synced then. All other resources are in every cluster and are
// always waited for.
package graphsync

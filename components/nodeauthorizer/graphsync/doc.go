// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package graphsync keeps a [graph.Graph] in agreement with an API server.
//
// Each resource has its own reflector, which writes directly to the graph. There is no informer and
// no cache between them, and the objects of a list are written as they arrive. So of a hundred
// thousand pods, only the data of the graph stays in memory. Fields that no rule uses are not even
// decoded (package lean).
//
// # How current the view is
//
// [Sync.HasSynced] reports that every resource has been listed completely at least once. After
// that, the graph contains what the watches of the API server have sent so far. [Sync.Progress]
// returns how old that may be: the time since the API server last sent anything about a resource.
// That is a list, an event, a bookmark, or the acceptance of a watch that continues. In a quiet,
// healthy cluster a bookmark arrives about once a minute. So the age rises to a little more than a
// minute and falls back to zero. An age of several minutes means that the watch is broken.
//
// Requests must not be decided from a view that is too old. [Sync.Unready] returns a reason until
// the server sends something again. Such a graph may grant a node access that it has lost, and deny
// it access that it has gained since. The first list is a consistent read (WatchList, which is on
// by default in client-go and in Kubernetes 1.37). How far the API server's watch cache later lags
// behind its storage cannot be seen from here.
//
// # Live reads
//
// The watch may lag behind. [Sync.Fold] puts the result of a live read into the graph. It stays
// there until the watch has caught up. Neither source reverts what the other has shown: objects are
// ordered by their resource versions. Kubernetes guarantees that resource versions are comparable
// within one resource. Only the watch and a complete list can show that an object was deleted.
//
// # Pods that have ended
//
// A list, an event or a live read can be the first to show that a pod has ended. Then graphsync
// calls [graph.Graph.EndPod] after the grace period ([Options]). The graph decides what that means.
//
// # A server without an API
//
// ResourceSlices and PodCertificateRequests are APIs that a cluster can turn off. A caller that
// knows this excludes them with [Options]. If a server answers a list of one of them with 404, no
// object of that kind exists. An empty view is then correct, and HasSynced does not wait for it.
// The list is retried every 30 seconds, so that Bulkhead needs no restart when the API is turned
// on. Any other error, 403 in particular, does not show which objects exist. The resource is then
// not synced. All other resources exist in every cluster, and HasSynced always waits for them.
package graphsync

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopeindex knows what the annotations of ServiceAccounts and pods say about
// node scope, and which pod is where.
//
// It keeps a parsed value once for all accounts of a namespace, and once for all its pods,
// however many have it. Each namespace has a share ([MaxOwnValues]). A value beyond the
// share holds its pods on everything, which is never wider than meant and takes no room;
// what other namespaces have does not change. Of a pod without an annotation it keeps
// nothing: where pods are the graph of the node authorizer knows.
//
// A pod is told to the index before it is told to the graph, and taken from the graph
// before it is taken from the index. So nobody finds a pod without its annotation.
package scopeindex

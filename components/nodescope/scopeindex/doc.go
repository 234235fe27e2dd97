// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scopeindex knows what the annotations of ServiceAccounts and pods say about
// node scope, and which pod is where.
//
// It keeps a parsed value once, however many accounts and pods have it, and no more than
// [MaxValues] different ones: a value that there is no room for holds its pods on
// everything, which is never wider than meant and takes no room. Of a pod without an
// annotation it keeps nothing: where pods are the graph of the node authorizer knows.
//
// A pod is told to the index before it is told to the graph, and taken from the graph
// before it is taken from the index. So nobody finds a pod without its annotation.
package scopeindex

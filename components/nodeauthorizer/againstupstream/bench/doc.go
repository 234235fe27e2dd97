// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures the node authorizer against the in-tree one in one
// process: decisions, the making of the graph, single writes, and growth.
//
// The worlds and the requests are those of upstream's own benchmarks
// (plugin/pkg/auth/authorizer/node/node_authorizer_test.go), and more. Both sides
// take turns, so that what the machine does besides meets both alike. Nothing is
// timed before both have given the same answer.
package bench

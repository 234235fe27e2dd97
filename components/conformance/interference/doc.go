// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package interference tests that a node learns nothing about objects that it has no part in. Two
// random clusters differ only in objects that are unrelated to one node: other nodes, their pods,
// claims, volumes, accounts and scopes. Every request of that node, and of a scoped pod on it, must
// get the same answer in both, by the same look-ups and API calls. The package contains only tests.
package interference

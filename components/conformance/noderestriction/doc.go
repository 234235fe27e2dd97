// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package noderestriction compares the decisions of node-restriction with those of the in-tree
// NodeRestriction plugin of Kubernetes. It contains only tests.
package noderestriction

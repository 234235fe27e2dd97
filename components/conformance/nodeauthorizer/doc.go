// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeauthorizer compares the decisions of node-authorizer with those of the in-tree Node
// authorizer of Kubernetes. It contains only tests.
package nodeauthorizer

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeauthorizer compares the decisions of the node authorizer with those of the
// in-tree one of Kubernetes. It has tests only.
package nodeauthorizer

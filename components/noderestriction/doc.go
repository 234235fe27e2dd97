// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package noderestriction decides which writes of nodes are admitted. A node may write its own Node
// and its own pods, and nothing else.
//
// The package implements the rules of the in-tree NodeRestriction plugin as a separate policy. It
// adds rules from the design proposals Scoped Kubelet API Access and Limiting Node Scope on the
// Node object, and from KEP-1314. It also has optional rules that upstream does not have. A
// decision depends on the new object, the old object and the answers of [Cluster].
//
// Upstream's plugin runs before all webhooks and sees what the client sent. A validating webhook
// calls this policy later: the API server has set defaults, and other plugins and webhooks have
// changed the object. Where this makes a difference, the rule says so.
package noderestriction

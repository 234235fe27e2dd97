// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package noderestriction decides which writes of nodes are admitted: a node
// writes itself and its own pods, and nothing else.
//
// It is the in-tree NodeRestriction plugin as a policy of its own, with the rules of
// the proposals Scoped Kubelet API Access, Limiting Node Scope on the Node object and
// KEP-1314, and optional ones beyond upstream. It answers from values: what was
// written, what was there before, and what [Cluster] knows.
//
// Upstream's plugin runs before all webhooks and sees what the client sent. This
// policy is asked by a validating webhook, after the API server has defaulted the
// object and others have changed it; where that makes a difference, the rule says
// so.
package noderestriction

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var nodeRegistered = rules.Rule{
	ID: "NA-NODE-4",
	Description: "A node without a Node object may not use what its pods give it, and gets no tokens and pod " +
		"certificates, no writes of pods and no events. What it needs to register stays: the reads that all nodes have, " +
		"its own Node, lease and CSINode, and certificate signing requests.",
	Source: "Bulkhead: upstream takes every certificate of a node for a node that exists " +
		"(plugin/pkg/admission/noderestriction/admission.go has a TODO)",
	Extension: true,
	Optional:  true,
}

// ifRegistered allows by r if there is a Node object.
func (z *Authorizer) ifRegistered(ctx context.Context, node string, r rules.Rule) rules.Decision {
	if z.optional.node == rules.Off || z.relations.Registered(node) {
		return allow(r)
	}
	return z.ifRegisteredNow(ctx, node, r)
}

// ifRegisteredNow reads live before it refuses: a kubelet that has just registered
// goes on at once.
func (z *Authorizer) ifRegisteredNow(ctx context.Context, node string, r rules.Rule) rules.Decision {
	why := ""
	if z.confirmer != nil {
		if why = z.confirmer.ConfirmNode(ctx, node); z.relations.Registered(node) {
			return allow(r)
		}
	}
	if z.optional.node == rules.Audit {
		return audit(r, nodeRegistered)
	}
	return deny(nodeRegistered, because(noNodeObject(node), why))
}

// eventWrites are what a node may do to events, of both groups.
var eventWrites = []string{"create", "update", "patch"}

func (z *Authorizer) authorizeEvent(ctx context.Context, node string, a *request) rules.Decision {
	if v := uniform(events, eventWrites, a); v.Effect != rules.Allow {
		return v
	}
	return z.ifRegistered(ctx, node, events)
}

func noNodeObject(node string) string { return "node '" + node + "' has no Node object" }

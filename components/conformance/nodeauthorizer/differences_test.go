// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package againstupstream

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/world"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// difference is one way in which ours is meant to answer differently.
type difference struct {
	name string
	// ids are the rules that ours names in it, all of which docs/differences.md
	// names. Without any, every rule may be named.
	ids []rules.ID
	// documented is what the page's row says.
	documented string
	// is recognises the case in a comparison that names one of the rules.
	is func(*comparison) bool
}

// differences are all that are known. The first that recognises a comparison
// takes it.
var differences = []difference{
	{
		name:       "leak",
		ids:        []rules.ID{"NA-SECRET-1", "NA-SECRET-2", "NA-CM-1", "NA-CM-2", "NA-PVC-1", "NA-PVC-2", "NA-CLAIM-1"},
		documented: "200 consumers",
		is:         isLeak,
	},
	{
		name: "update not looked at",
		ids: []rules.ID{
			"NA-SECRET-1", "NA-SECRET-2", "NA-CM-1", "NA-CM-2", "NA-PASS-4", "NA-PVC-1", "NA-PVC-2", "NA-PV-1", "NA-CLAIM-1",
			"NA-SA-1", "NA-SA-2", "NA-POD-1", "NA-POD-2", "NA-SLICE-2", "NA-PCR-2",
		},
		documented: "updates of slices and certificate requests not at all",
		is:         isUpdateNotLookedAt,
	},
	{
		name:       "subresource in the resource",
		ids:        []rules.ID{"NA-DEFAULT"},
		documented: "`pods/status`",
		is:         isSubresourceInResource,
	},
	{
		name:       "audience or signer spelled like a resource",
		ids:        []rules.ID{"NA-PASS-5"},
		documented: "an audience may be spelled like a resource",
		is:         isAdmissionQuestion,
	},
	{
		name:       "left open in Strict",
		ids:        []rules.ID{"NA-PASS-1", "NA-PASS-2", "NA-PASS-3", "NA-PASS-4", "NA-PASS-5"},
		documented: "left to the authorizers behind, in both modes",
		is:         func(c *comparison) bool { return c.strictly(authorizer.DecisionNoOpinion) },
	},
	{
		name:       "no name denied in Strict",
		ids:        []rules.ID{"NA-IDENT-1"},
		documented: "it is nobody's identity",
		is:         func(c *comparison) bool { return c.strictly(authorizer.DecisionDeny) && c.node == "" },
	},
	{
		name:       "no rule denied in Strict",
		ids:        []rules.ID{"NA-DEFAULT"},
		documented: "no rule allows a node to",
		is:         func(c *comparison) bool { return c.strictly(authorizer.DecisionDeny) },
	},
	{
		name:       "refusal denied in Strict",
		documented: "all, in `hardened`",
		is:         func(c *comparison) bool { return c.strictly(authorizer.DecisionDeny) && c.node != "" },
	},
}

// knownAs names the difference that a comparison shows, if it is known.
func knownAs(c *comparison) string {
	for i := range differences {
		d := &differences[i]
		if (len(d.ids) == 0 || slices.Contains(d.ids, c.id)) && d.is(c) {
			return d.name
		}
	}
	return ""
}

// strictly reports whether ours made this of what the node authorizer does not
// allow.
func (c *comparison) strictly(decision authorizer.Decision) bool {
	return c.mode == nodeauthorizer.Strict && c.isNode && c.ours.decision == decision
}

// withoutPast reports whether an upstream with no past answers the decision.
func (c *comparison) withoutPast(u upstream, decision authorizer.Decision) bool {
	return ask(u, c.request).decision == decision
}

// isLeak recognises that upstream still allows an object with very many consumers,
// one of which named it twice on the node that asks, and that nothing but this
// past can be why.
func isLeak(c *comparison) bool {
	if c.mode != nodeauthorizer.Compat || c.upstream.decision != authorizer.DecisionAllow || c.ours.decision != authorizer.DecisionNoOpinion {
		return false
	}
	kind, ok := map[string]graph.Kind{
		"secrets": graph.Secret, "configmaps": graph.ConfigMap,
		"persistentvolumeclaims": graph.PersistentVolumeClaim, "resourceclaims": graph.ResourceClaim,
	}[c.request.Resource]
	object := world.Key{Kind: kind, Namespace: c.request.Namespace, Name: c.request.Name}
	history := c.pair.history
	return ok && history.most[object] >= indexThreshold && slices.Contains(history.twice[object], c.node) &&
		c.withoutPast(c.pair.upstreamUpToDate(), c.ours.decision) &&
		c.withoutPast(c.pair.upstreamStale(), c.ours.decision)
}

// isUpdateNotLookedAt recognises that upstream answers from objects as they were
// before updates that its event handlers do not look at.
func isUpdateNotLookedAt(c *comparison) bool {
	return c.mode == nodeauthorizer.Compat && c.upstream.decision != c.ours.decision &&
		c.withoutPast(c.pair.upstreamUpToDate(), c.ours.decision) &&
		c.withoutPast(c.pair.upstreamStale(), c.upstream.decision)
}

// isSubresourceInResource recognises a review made by hand for a resource with a
// slash, which upstream allows as RBAC would.
func isSubresourceInResource(c *comparison) bool {
	return c.mode == nodeauthorizer.Compat && c.upstream.decision == authorizer.DecisionAllow &&
		c.request.Subresource == "" && strings.Contains(c.request.Resource, "/")
}

// isAdmissionQuestion recognises that only the text differs, since upstream has one
// for the resource that the audience or signer is spelled like.
func isAdmissionQuestion(c *comparison) bool {
	return c.mode == nodeauthorizer.Compat && c.upstream.decision == c.ours.decision && c.upstream.reason != "" &&
		strings.HasPrefix(c.request.Verb, "request-serviceaccounts-")
}

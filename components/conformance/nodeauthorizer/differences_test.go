// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// difference is an intended difference between Bulkhead and upstream.
type difference struct {
	harness.Documented
	// is reports whether a comparison, in which Bulkhead names one of the rules, shows this
	// difference.
	is func(*comparison) bool
}

// differences are all known differences. The first one that matches a comparison applies.
var differences = []difference{
	{
		Documented: harness.Documented{
			Name: "leak",
			IDs:  []rules.ID{"NA-SECRET-1", "NA-SECRET-2", "NA-CM-1", "NA-CM-2", "NA-PVC-1", "NA-PVC-2", "NA-CLAIM-1"},
			Row:  "200 consumers",
		},
		is: isLeak,
	},
	{
		Documented: harness.Documented{
			Name: "update not looked at",
			IDs: []rules.ID{
				"NA-SECRET-1",
				"NA-SECRET-2",
				"NA-CM-1",
				"NA-CM-2",
				"NA-PASS-4",
				"NA-PVC-1",
				"NA-PVC-2",
				"NA-PV-1",
				"NA-CLAIM-1",
				"NA-SA-1",
				"NA-SA-2",
				"NA-POD-1",
				"NA-POD-2",
				"NA-SLICE-2",
				"NA-PCR-2",
			},
			Row: "updates of slices and certificate requests not at all",
		},
		is: isUpdateNotLookedAt,
	},
	{
		Documented: harness.Documented{
			Name: "subresource in the resource",
			IDs:  []rules.ID{"NA-DEFAULT"},
			Row:  "`pods/status`",
		},
		is: isSubresourceInResource,
	},
	{
		Documented: harness.Documented{
			Name: "audience or signer spelled like a resource",
			IDs:  []rules.ID{"NA-PASS-5"},
			Row:  "an audience may be spelled like a resource",
		},
		is: isAdmissionQuestion,
	},
	{
		Documented: harness.Documented{
			Name: "left open in Strict",
			IDs:  []rules.ID{"NA-PASS-1", "NA-PASS-2", "NA-PASS-3", "NA-PASS-4", "NA-PASS-5"},
			Row:  "left to the next authorizers, in both modes",
		},
		is: func(c *comparison) bool { return c.strictly(authorizer.DecisionNoOpinion) },
	},
	{
		Documented: harness.Documented{
			Name: "no name denied in Strict",
			IDs:  []rules.ID{"NA-IDENT-1"},
			Row:  "this name identifies no node",
		},
		is: func(c *comparison) bool { return c.strictly(authorizer.DecisionDeny) && c.node == "" },
	},
	{
		Documented: harness.Documented{
			Name: "no rule denied in Strict",
			IDs:  []rules.ID{"NA-DEFAULT"},
			Row:  "no rule allows a node to",
		},
		is: func(c *comparison) bool { return c.strictly(authorizer.DecisionDeny) },
	},
	{
		Documented: harness.Documented{
			Name: "refusal denied in Strict",
			Row:  "all, in `hardened`",
		},
		is: func(c *comparison) bool { return c.strictly(authorizer.DecisionDeny) && c.node != "" },
	},
}

// knownAs returns the name of the known difference that a comparison shows, or "".
func knownAs(c *comparison) string {
	for i := range differences {
		d := &differences[i]
		if (len(d.IDs) == 0 || slices.Contains(d.IDs, c.id)) && d.is(c) {
			return d.Name
		}
	}
	return ""
}

// strictly reports whether Strict turned a request that upstream does not allow into this decision.
func (c *comparison) strictly(decision authorizer.Decision) bool {
	return c.mode == nodeauthorizer.Strict && c.isNode && c.bulkhead.decision == decision
}

// withoutPast reports whether a new upstream, without earlier events, returns this decision.
func (c *comparison) withoutPast(u upstream, decision authorizer.Decision) bool {
	return ask(u, c.request).decision == decision
}

// isLeak matches if upstream still allows an object that once had very many consumers, and that a
// pod on the requesting node named twice. It checks that only these past events can be the cause.
func isLeak(c *comparison) bool {
	if c.mode != nodeauthorizer.Compat || c.upstream.decision != authorizer.DecisionAllow ||
		c.bulkhead.decision != authorizer.DecisionNoOpinion {
		return false
	}
	kind, ok := map[string]graph.Kind{
		"secrets": graph.Secret, "configmaps": graph.ConfigMap,
		"persistentvolumeclaims": graph.PersistentVolumeClaim, "resourceclaims": graph.ResourceClaim,
	}[c.request.Resource]
	object := generator.Key{Kind: kind, Namespace: c.request.Namespace, Name: c.request.Name}
	history := c.pair.history
	return ok && history.most[object] >= indexThreshold && slices.Contains(history.twice[object], c.node) &&
		c.withoutPast(c.pair.upstreamUpToDate(), c.bulkhead.decision) &&
		c.withoutPast(c.pair.upstreamStale(), c.bulkhead.decision)
}

// isUpdateNotLookedAt matches if upstream decides on objects as they were before updates that its
// event handlers ignore.
func isUpdateNotLookedAt(c *comparison) bool {
	return c.mode == nodeauthorizer.Compat && c.upstream.decision != c.bulkhead.decision &&
		c.withoutPast(c.pair.upstreamUpToDate(), c.bulkhead.decision) &&
		c.withoutPast(c.pair.upstreamStale(), c.upstream.decision)
}

// isSubresourceInResource matches a review written by hand for a resource with a slash. Upstream
// allows it, as RBAC would.
func isSubresourceInResource(c *comparison) bool {
	return c.mode == nodeauthorizer.Compat && c.upstream.decision == authorizer.DecisionAllow &&
		c.request.Subresource == "" && strings.Contains(c.request.Resource, "/")
}

// isAdmissionQuestion matches if only the reasons differ. Upstream has a reason for the resource
// whose name equals the audience or signer.
func isAdmissionQuestion(c *comparison) bool {
	return c.mode == nodeauthorizer.Compat && c.upstream.decision == c.bulkhead.decision && c.upstream.reason != "" &&
		strings.HasPrefix(c.request.Verb, "request-serviceaccounts-")
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var impersonation = rules.Rule{
	ID: "NS-IMPERSONATE-1",
	Description: "Who has a scope, of whatever size, may impersonate the node that it is on and nobody else: any other " +
		"name would take it out of its scope.",
	Source:    "KEP-5284; k8s.io/apiserver/pkg/endpoints/filters/impersonation/mode.go associatedNodeImpersonationMode",
	Extension: true,
}

// isImpersonation reports whether the verb is one that the API server asks about before
// it lets somebody act as somebody else.
func isImpersonation(verb string) bool {
	return verb == "impersonate" || strings.HasPrefix(verb, "impersonate:") || strings.HasPrefix(verb, "impersonate-on:")
}

// authorizeImpersonation knows that who may impersonate the associated node is looked at
// as that node afterwards, by the node authorizer. The API server has compared the node
// with the token's by then. It asks without the token's claims, so that its answer holds
// for all pods of the account: they are not missed here.
func authorizeImpersonation(who identity, a *request) rules.Decision {
	if a.Verb == "impersonate:associated-node" || strings.HasPrefix(a.Verb, "impersonate-on:associated-node:") {
		return noOpinion(impersonation)
	}
	if who.held.isEmpty() {
		return noOpinion(notInScope)
	}
	return deny(impersonation, "a pod that is held to its node may impersonate that node and nobody else")
}

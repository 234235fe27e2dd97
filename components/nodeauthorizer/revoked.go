// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var credentialRevoked = rules.Rule{
	ID: "NA-REVOKE-1",
	Description: "Every request of a node is denied if the cluster's list of revoked credentials has the node, or " +
		"the ID of the request's credential. An ID does not affect other credentials of the node.",
	Source: "Bulkhead: kube-apiserver has no revocation list for client certificates " +
		"(staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go); the ID is that of KEP-4193",
	Extension: true,
	Optional:  true,
}

// decideCredential checks for a revoked credential before all other rules. It also does so while
// the graph is not complete or out of date. In that state the next authorizers decide, and they do
// not know the revocation list.
func (z *Authorizer) decideCredential(ctx context.Context, node string, a *request) rules.Decision {
	mode := z.optional.credential
	if mode == rules.Off || z.revoked == nil {
		return z.decide(ctx, node, a)
	}
	what, revoked := z.revoked().Find(a.User)
	if revoked && mode == rules.Enforce {
		return deny(credentialRevoked, what+" is revoked")
	}
	d := z.decide(ctx, node, a)
	if revoked && d.Effect == rules.Allow {
		// An enforced NA-REVOKE-1 would deny before all other rules. So its finding replaces every
		// other finding.
		d.Findings = []rules.Finding{{Rule: credentialRevoked.ID}}
	}
	return d
}

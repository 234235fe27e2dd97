// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var credentialRevoked = rules.Rule{
	ID: "NA-REVOKE-1",
	Description: "A node's request is refused, whatever it asks for, if the ID of the credential that made it is " +
		"in the cluster's list of revoked credentials. Other credentials of the same node are not affected.",
	Source: "Bulkhead: kube-apiserver has no revocation list for client certificates " +
		"(staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go); the ID is that of KEP-4193",
	Extension: true,
	Optional:  true,
}

// decideCredential decides by the credential before all other rules. It also does so while
// the view of the cluster is not complete or out of date: the authorizers behind, which
// decide then, know no list.
func (z *Authorizer) decideCredential(ctx context.Context, node string, a *request) rules.Decision {
	mode := z.optional.credential
	if mode == rules.Off || z.revoked == nil {
		return z.decide(ctx, node, a)
	}
	id, revoked := z.revoked().Find(a.User)
	if revoked && mode == rules.Enforce {
		return deny(credentialRevoked, "credential "+id+" is revoked")
	}
	d := z.decide(ctx, node, a)
	if revoked && d.Effect == rules.Allow {
		// It would deny first, so it is the one that is named.
		d.Findings = []rules.Finding{{Rule: credentialRevoked.ID}}
	}
	return d
}

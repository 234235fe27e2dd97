// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import "github.com/bulkhead-k8s/bulkhead/components/rules"

var credentialRevoked = promise(rules.Rule{
	ID: "NS-REVOKE-1",
	Promise: "A request of an account with a scope is denied, whatever it asks for and whatever the mode of the " +
		"scope, if the ID of its token is in the cluster's list of revoked credentials.",
	Source:     "Bulkhead: a token ends early only with its pod, secret or account; the ID is that of KEP-4193",
	Configured: true,
})

// decideCredential denies a revoked credential, and has no rule for any other.
func (z *Authorizer) decideCredential(a *request) verdict {
	if z.Revoked == nil {
		return verdict{}
	}
	if id, revoked := z.Revoked().Find(a.User); revoked {
		return refuse(credentialRevoked, "credential "+id+" is revoked")
	}
	return verdict{}
}

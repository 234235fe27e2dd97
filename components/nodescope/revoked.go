// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import "github.com/bulkhead-k8s/bulkhead/components/rules"

var credentialRevoked = rules.Rule{
	ID: "NS-REVOKE-1",
	Description: "A request of an account with a scope is denied, whatever it asks for and whatever the mode of the " +
		"scope, if the ID of its token is in the cluster's list of revoked credentials.",
	Source:     "Bulkhead: a token ends early only with its pod, secret or account; the ID is that of KEP-4193",
	Extension:  true,
	Configured: true,
}

// decideCredential denies a revoked credential, and decides nothing about any other.
func (z *Authorizer) decideCredential(a *request) (d rules.Decision, revoked bool) {
	if z.Revoked == nil {
		return rules.Decision{}, false
	}
	id, revoked := z.Revoked().Find(a.User)
	if !revoked {
		return rules.Decision{}, false
	}
	return deny(credentialRevoked, "credential "+id+" is revoked"), true
}

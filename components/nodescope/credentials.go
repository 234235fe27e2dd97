// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	tokenCreate = rules.Rule{
		ID: "NS-TOKEN-1",
		Description: "A pod of an account with a scope, of any size, may create tokens (serviceaccounts/token) and pod " +
			"certificates only " +
			"as the node authorizer allows its node: for accounts that pods on that node run as.",
		Source: "Bulkhead: a token of another account, or of a pod on another node, takes its holder out of the scope; " +
			"plugin/pkg/auth/authorizer/node/node_authorizer.go authorizeCreateToken",
		Extension: true,
	}
	rightsGrant = rules.Rule{
		ID: "NS-GRANT-1",
		Description: "An account with a scope, of any size, passes no rights on: it does not create or change roles and " +
			"bindings " +
			"(bind and escalate included), and does not approve or sign certificates of Kubernetes' own signers.",
		Source: "Bulkhead: an account without a scope that gets the same rights, or a client certificate, is out of the " +
			"scope; " +
			"pkg/registry/rbac/escalation_check.go",
		Extension: true,
	}
)

// inEveryScope are the rules that do not depend on what a scope names.
var inEveryScope = []rules.ID{"NS-IMPERSONATE-1", "NS-TOKEN-1", "NS-TOKEN-2", "NS-TOKEN-3", "NS-GRANT-1"}

// InEveryScope reports whether the rule limits every account with a scope, whatever
// resources the scope names.
func InEveryScope(id rules.ID) bool { return slices.Contains(inEveryScope, id) }

// IsTokenRequest reports whether the resource is where tokens of accounts are made.
func IsTokenRequest(r Resource) bool {
	return r == Resource{Resource: "serviceaccounts", Subresource: "token"}
}

// IsPodCertificateRequest reports whether the resource is where a certificate of a pod is
// requested.
func IsPodCertificateRequest(r Resource) bool {
	return r == Resource{Group: certificatesGroup, Resource: "podcertificaterequests"}
}

const (
	certificatesGroup = "certificates.k8s.io"
	rbacGroup         = "rbac.authorization.k8s.io"
)

// makesCredential reports whether the request makes a token or a certificate of a pod.
func makesCredential(r Resource, verb string) bool {
	return IsTokenRequest(r) || IsPodCertificateRequest(r) && verb == "create"
}

// authorizeCredential limits every account with a scope: whoever can make a credential of
// somebody else is out of its own scope with the next request.
func (z *Authorizer) authorizeCredential(ctx context.Context, who identity, r Resource, a *request) rules.Decision {
	switch {
	case who.held.isEmpty():
		return noOpinion(notInScope)
	case who.against != "":
		return who.denied()
	}
	return z.asNode(ctx, tokenCreate, who.node, a, a.Verb, r)
}

// grantsRights reports whether the request gives rights to somebody else. Kube-apiserver
// and kube-controller-manager ask some of these about the user who writes an RBAC object or
// a certificate signing request.
//
// Source: pkg/registry/rbac/escalation_check.go; plugin/pkg/admission/certificates;
// pkg/controller/certificates/approver/sarapprove.go.
func grantsRights(r Resource, a *request) bool {
	switch r.Group {
	case rbacGroup:
		return slices.Contains([]string{"create", "update", "patch", "bind", "escalate"}, a.Verb)
	case certificatesGroup:
		return r.Resource == "signers" && strings.HasPrefix(a.Name, "kubernetes.io/") || approvesCertificate(r, a.Verb)
	}
	return false
}

// approvesCertificate reports whether the request approves a certificate signing request,
// or asks whether the user's requests are approved without a person.
func approvesCertificate(r Resource, verb string) bool {
	if r.Resource != "certificatesigningrequests" {
		return false
	}
	switch r.Subresource {
	case "approval":
		return verb == "update" || verb == "patch"
	case "nodeclient", "selfnodeclient", "selfnodeserver":
		return true
	}
	return false
}

// authorizeGrant refuses every account with a scope.
func authorizeGrant(who identity) rules.Decision {
	if who.held.isEmpty() {
		return noOpinion(notInScope)
	}
	return deny(rightsGrant, "an account with a node scope cannot give rights to others")
}

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

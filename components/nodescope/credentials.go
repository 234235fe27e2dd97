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
		Description: "An account with a scope, of any size, grants no rights. It does not create or change roles " +
			"and bindings (this includes bind and escalate), and does not approve or sign certificates of " +
			"Kubernetes' own signers.",
		Source: "Bulkhead: an account without a scope that gets the same rights, or a client certificate, is out of the " +
			"scope; " +
			"pkg/registry/rbac/escalation_check.go",
		Extension: true,
	}
)

// inEveryScope are the rules that apply to every account with a scope, whatever the scope
// names.
var inEveryScope = []rules.ID{"NS-IMPERSONATE-1", "NS-TOKEN-1", "NS-TOKEN-2", "NS-TOKEN-3", "NS-GRANT-1"}

// InEveryScope reports whether the rule applies to every account with a scope, whatever
// resources the scope names.
func InEveryScope(id rules.ID) bool { return slices.Contains(inEveryScope, id) }

// IsTokenRequest reports whether the resource creates tokens of ServiceAccounts.
func IsTokenRequest(r Resource) bool {
	return r == Resource{Resource: "serviceaccounts", Subresource: "token"}
}

// IsPodCertificateRequest reports whether the resource requests a certificate for a pod.
func IsPodCertificateRequest(r Resource) bool {
	return r == Resource{Group: certificatesGroup, Resource: "podcertificaterequests"}
}

const (
	certificatesGroup = "certificates.k8s.io"
	rbacGroup         = "rbac.authorization.k8s.io"
)

// makesCredential reports whether the request creates a token, or a certificate for a pod.
func makesCredential(r Resource, verb string) bool {
	return IsTokenRequest(r) || IsPodCertificateRequest(r) && verb == "create"
}

// authorizeCredential limits every account with a scope. An account that can create a
// credential for another user could use that credential to leave its own scope.
func (z *Authorizer) authorizeCredential(ctx context.Context, who identity, r Resource, a *request) rules.Decision {
	switch {
	case who.scopes.isEmpty():
		return noOpinion(notInScope)
	case who.against != "":
		return who.denied()
	}
	return z.asNode(ctx, tokenCreate, who.node, a, a.Verb, r)
}

// grantsRights reports whether the request grants permissions to another user. For some of
// these requests, kube-apiserver or kube-controller-manager checks the user who writes an RBAC
// object or a certificate signing request.
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

// approvesCertificate reports whether the request approves a certificate signing request, or
// checks whether the user's certificate signing requests are approved automatically.
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

// authorizeGrant denies every account with a scope.
func authorizeGrant(who identity) rules.Decision {
	if who.scopes.isEmpty() {
		return noOpinion(notInScope)
	}
	return deny(rightsGrant, "an account with a node scope cannot give rights to others")
}

var impersonation = rules.Rule{
	ID: "NS-IMPERSONATE-1",
	Description: "An account with a scope, of any size, may impersonate only the node that its pod is on. Any " +
		"other name would take it out of its scope.",
	Source:    "KEP-5284; k8s.io/apiserver/pkg/endpoints/filters/impersonation/mode.go associatedNodeImpersonationMode",
	Extension: true,
}

// isImpersonation reports whether the API server uses the verb to check an impersonation.
func isImpersonation(verb string) bool {
	return verb == "impersonate" || strings.HasPrefix(verb, "impersonate:") || strings.HasPrefix(verb, "impersonate-on:")
}

// authorizeImpersonation denies an account with a scope every impersonation except that of the
// associated node. The node authorizer decides the impersonated request afterwards, as a
// request of that node. By then the API server has compared the node with the token's node. The
// API server sends this check without the token's claims and uses the answer for all pods of
// the account. The decision does not need the claims.
func authorizeImpersonation(who identity, a *request) rules.Decision {
	if a.Verb == "impersonate:associated-node" || strings.HasPrefix(a.Verb, "impersonate-on:associated-node:") {
		return noOpinion(impersonation)
	}
	if who.scopes.isEmpty() {
		return noOpinion(notInScope)
	}
	return deny(impersonation, "a pod that is limited to its node may impersonate only that node")
}

var credentialRevoked = rules.Rule{
	ID: "NS-REVOKE-1",
	Description: "Every request of an account with a scope is denied, in every mode of the scope, if the ID of " +
		"its token is in the cluster's list of revoked credentials. If it may impersonate its node, requests as the " +
		"node are not: they come without the ID. Deletion of the pod ends both.",
	Source:    "Bulkhead: a token ends early only with its pod, secret or account; the ID is that of KEP-4193",
	Extension: true,
}

// decideCredential denies a request whose credential is revoked. For all others, revoked is
// false.
func (z *Authorizer) decideCredential(a *request) (d rules.Decision, revoked bool) {
	if z.Revoked == nil {
		return rules.Decision{}, false
	}
	what, revoked := z.Revoked().Find(a.User)
	if !revoked {
		return rules.Decision{}, false
	}
	return deny(credentialRevoked, what+" is revoked"), true
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
)

// credentials returns a copy of the request for an authenticator. Authenticators remove the
// credentials that they accept, and the recheck of a stream needs them again.
func credentials(ctx context.Context, req *http.Request) *http.Request {
	copied := req.WithContext(ctx)
	copied.Header = make(http.Header, 4)
	for _, name := range [...]string{"Authorization", protocolHeader, "Connection", "Upgrade"} {
		if values, ok := req.Header[name]; ok {
			copied.Header[name] = values
		}
	}
	return copied
}

// authenticate authenticates the request and sets the user.
func (h *Handler) authenticate(rc *requestContext, req *http.Request) *response {
	release, refused := rc.place(req.Context(), h.authenticating, authn.ClientOf(req.RemoteAddr).String(),
		"too many requests from this address wait for authentication")
	if refused != nil {
		return refused
	}
	defer release()
	answer, findings, err := h.config.Authenticator.Authenticate(credentials(req.Context(), req))
	switch {
	case err != nil:
		return unauthenticated(err)
	case answer == nil || answer.User == nil:
		return deny(http.StatusUnauthorized, kubeletauth.RuleAuthenticated, "Unauthorized")
	}
	rc.setUser(answer)
	for _, finding := range findings {
		// A limit matters only if the request is allowed.
		if finding.Rule == kubeletauth.RuleLimit {
			rc.audits = append(rc.audits, finding.Rule)
			continue
		}
		rc.addFinding(finding.Rule)
	}
	return nil
}

// unauthenticated returns the denial from package authn. For any other error it returns a denial
// with the kubelet's text.
func unauthenticated(err error) *response {
	known := &authn.Denied{}
	if !errors.As(err, &known) {
		r := deny(http.StatusUnauthorized, kubeletauth.RuleAuthenticated, "Unauthorized")
		r.cause = err.Error()
		return r
	}
	return &response{Decision: known.Decision, cause: known.Error(), after: known.RetryAfter}
}

// authorize asks for one right after the other. The first allowed right is enough. An error denies
// the request (pkg/kubelet/server/server.go InstallAuthFilter).
func (h *Handler) authorize(ctx context.Context, rc *requestContext) *response {
	release, refused := rc.place(ctx, h.authorizing, rc.user.GetName(),
		"too many requests of this user wait for authorization")
	if refused != nil {
		return refused
	}
	defer release()
	reason := ""
	for _, attempt := range rc.mapping.Attempts {
		answer, err := h.config.Authorize(ctx, h.attributes(rc.user, attempt, rc.event.Path))
		if err != nil {
			return noDecision(rc.user.GetName(), attempt, err)
		}
		rc.event.CacheHit = answer.Cached
		if answer.Allowed {
			rc.event.Subresource = attempt.Subresource
			return nil
		}
		reason = cmp.Or(answer.Reason, reason)
	}
	refused = forbidden(rc.mapping.Rule, rc.user.GetName(), rc.mapping.Attempts)
	// The reason may name the node-scope rule that denied the request. As with a kubelet, the
	// client does not see it.
	refused.cause = reason
	return refused
}

// audit adds a finding if the user lacks the rights that a rule in audit mode would require. If the
// authorizer returns an error, there is no finding.
func (h *Handler) audit(ctx context.Context, rc *requestContext) {
	for _, attempt := range rc.audited.Attempts {
		answer, err := h.config.Authorize(ctx, h.attributes(rc.user, attempt, rc.event.Path))
		if err != nil || answer.Allowed {
			return
		}
	}
	if len(rc.audited.Attempts) > 0 {
		rc.addFinding(rc.audited.Rule)
	}
}

func (h *Handler) attributes(who user.Info, attempt kubeletauth.Attributes, path string) authorizer.Attributes {
	return authorizer.AttributesRecord{
		User: who, Verb: attempt.Verb, APIVersion: "v1", Resource: "nodes", Subresource: attempt.Subresource,
		Name: h.config.NodeName, ResourceRequest: true, Path: path,
	}
}

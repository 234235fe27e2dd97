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

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
)

// credentials is the request as an authenticator may have it: authenticators take
// off what they accepted, and it is needed again while a stream lasts.
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

// authenticate says who asks.
func (h *Handler) authenticate(x *exchange, req *http.Request) *reply {
	release, over := h.authenticating.AdmitNode(req.Context(), authn.ClientOf(req.RemoteAddr).String())
	if over != webhook.WithinLimits {
		return overLimit("too many of this address wait to be authenticated")
	}
	defer release()
	answer, findings, err := h.config.Authenticator.Authenticate(credentials(req.Context(), req))
	switch {
	case err != nil:
		return unauthenticated(err)
	case answer == nil || answer.User == nil:
		return deny(http.StatusUnauthorized, kubeletauth.RuleAuthenticated, "Unauthorized")
	}
	x.identified(answer)
	for _, finding := range findings {
		x.found(finding.Rule)
	}
	return nil
}

// unauthenticated is the kubelet's one word for every error, or what an
// [authn.Authenticator] says.
func unauthenticated(err error) *reply {
	known := &authn.Denied{}
	if !errors.As(err, &known) {
		r := deny(http.StatusUnauthorized, kubeletauth.RuleAuthenticated, "Unauthorized")
		r.cause = err.Error()
		return r
	}
	return &reply{Decision: known.Decision, cause: known.Error(), after: known.RetryAfter}
}

// authorize asks for one right after the other; the first that is there is enough,
// and an error ends it (pkg/kubelet/server/server.go InstallAuthFilter).
func (h *Handler) authorize(ctx context.Context, x *exchange) *reply {
	release, over := h.authorizing.AdmitNode(ctx, x.user.GetName())
	if over != webhook.WithinLimits {
		return overLimit("too many of this user wait to be authorized")
	}
	defer release()
	reason := ""
	for _, attempt := range x.mapping.Attempts {
		answer, err := h.config.Authorize(ctx, h.attributes(x.user, attempt, x.line.Path))
		if err != nil {
			return noDecision(x.user.GetName(), attempt, err)
		}
		x.line.CacheHit = answer.Cached
		if answer.Allowed {
			x.line.Subresource = attempt.Subresource
			return nil
		}
		reason = cmp.Or(answer.Reason, reason)
	}
	refused := forbidden(x.mapping.Rule, x.user.GetName(), x.mapping.Attempts)
	// It names the rule of node scope that denied. The caller is not told, as by a kubelet.
	refused.cause = reason
	return refused
}

// audit notes if the rights that a rule in audit would ask for are not there. That
// nobody can say is no finding.
func (h *Handler) audit(ctx context.Context, x *exchange) {
	for _, attempt := range x.audited.Attempts {
		answer, err := h.config.Authorize(ctx, h.attributes(x.user, attempt, x.line.Path))
		if err != nil || answer.Allowed {
			return
		}
	}
	if len(x.audited.Attempts) > 0 {
		x.found(x.audited.Rule)
	}
}

func (h *Handler) attributes(who user.Info, attempt kubeletauth.Attributes, path string) authorizer.Attributes {
	return authorizer.AttributesRecord{
		User: who, Verb: attempt.Verb, APIVersion: "v1", Resource: "nodes", Subresource: attempt.Subresource,
		Name: h.config.NodeName, ResourceRequest: true, Path: path,
	}
}

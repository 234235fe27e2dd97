// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Describe returns the user and the request. Values of a request may contain any text.
func (protocol) Describe(a *authorizer.AttributesRecord) []any {
	return []any{
		"user", webhook.Loggable(a.User.GetName()),
		"verb", webhook.Loggable(a.Verb),
		"group", webhook.Loggable(a.APIGroup),
		"resource", webhook.Loggable(a.Resource),
		"subresource", webhook.Loggable(a.Subresource),
		"namespace", webhook.Loggable(a.Namespace),
		"name", webhook.Loggable(a.Name),
		"path", webhook.Loggable(a.Path),
	}
}

func (protocol) Outcome(d rules.Decision) []any {
	s := statusOf(d)
	return []any{"decision", d.Effect.String(), "reason", s.Reason, "error", s.EvaluationError}
}

func (protocol) Labels(a *authorizer.AttributesRecord) webhook.Labels {
	resource, verb := resourceLabel(a), verbLabel(a.GetVerb())
	return webhook.Labels{Values: []string{resource, verb}, Resource: resource, Verb: verb}
}

func verbLabel(verb string) string {
	switch verb {
	case "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection":
		return verb
	default:
		return webhook.Other
	}
}

// resourceLabel names the resources that nodes request or may try to request.
func resourceLabel(a authorizer.Attributes) string {
	if !a.IsResourceRequest() {
		return "non-resource"
	}
	return webhook.ResourceLabel(a.GetResource())
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"strings"

	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Describe returns the user and the write. The uid is that of the review. The values never contain
// a part of an object.
func (protocol) Describe(q *request) []any {
	return []any{
		"uid", webhook.Loggable(string(q.UID)),
		"user", webhook.Loggable(q.UserInfo.Username),
		"operation", webhook.Loggable(string(q.Operation)),
		"group", webhook.Loggable(q.Resource.Group),
		"resource", webhook.Loggable(q.Resource.Resource),
		"subresource", webhook.Loggable(q.SubResource),
		"namespace", webhook.Loggable(q.Namespace),
		"name", webhook.Loggable(q.Name),
		"dryRun", q.DryRun,
	}
}

// Outcome never contains a part of an object, except what the reviewer's message quotes.
func (protocol) Outcome(d rules.Decision) []any {
	values := []any{"decision", d.Effect.String(), "rule", string(d.Rule)}
	if status := statusOf(d); status != nil {
		values = append(values, "code", status.Code, "message", status.Message)
	}
	return values
}

// Labels uses the authorizer's verbs for findings.
func (protocol) Labels(q *request) webhook.Labels {
	resource, operation := webhook.ResourceLabel(q.Resource.Resource), operationLabel(q.Operation)
	return webhook.Labels{
		Values:   []string{resource, subresourceLabel(q.SubResource), operation},
		Resource: resource, Verb: strings.ToLower(operation),
	}
}

func operationLabel(operation admission.Operation) string {
	switch operation {
	case admission.Create, admission.Update, admission.Delete, admission.Connect:
		return string(operation)
	default:
		return webhook.Other
	}
}

// subresourceLabel names the subresources that nodes write or may try to write.
func subresourceLabel(subresource string) string {
	switch subresource {
	case "", "approval", "attach", "binding", "ephemeralcontainers", "eviction", "exec", "portforward", "proxy",
		"resize", "status", "token":
		return subresource
	default:
		return webhook.Other
	}
}

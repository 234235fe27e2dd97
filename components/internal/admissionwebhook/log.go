// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// logRefusal logs one line for a denial. With -v=4 it also logs one line for every other answer. A
// line never contains a part of an object, except what the reviewer's message quotes.
func (h *Handler) logRefusal(q *request, answer rules.Decision) {
	logger, message := h.config.Logger, "Not admitted"
	if answer.Allowed() {
		logger, message = logger.V(4), "Admitted"
		if !logger.Enabled() {
			return
		}
	} else if !h.lines.Admit(q.UserInfo.Username) {
		return
	}
	values := append(describe(q), "decision", effectOf(answer), "rule", string(answer.Rule))
	if status := statusOf(answer); status != nil {
		values = append(values, "code", status.Code, "message", status.Message)
	}
	h.lines.Put(func() { logger.Info(message, values...) })
}

// logFindings counts the denials of rules in audit mode, and logs one line for each, up to the rate
// limit.
func (h *Handler) logFindings(q *request, answer rules.Decision) {
	for _, rule := range answer.Audited() {
		h.metrics.audited(rule, q)
		if !h.audits.Admit(q.UserInfo.Username) {
			continue
		}
		values := append(describe(q), "rule", string(rule))
		h.audits.Put(func() { h.config.Logger.Info("Would not be admitted if the rule were enforced", values...) })
	}
}

func (h *Handler) logPanic(q *request, cause, stack string) {
	if !h.lines.Admit(q.UserInfo.Username) {
		return
	}
	values := append(describe(q), "cause", cause, "stack", stack)
	h.lines.Put(func() { h.config.Logger.Error(nil, "Reviewer panicked", values...) })
}

// describe returns the user and the write as log keys and values. The uid is that of the review.
func describe(q *request) []any {
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

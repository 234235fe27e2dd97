// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// logRefusal puts one line in the log for what is refused, and one for anything
// else only when asked for with -v=4. Nothing of an object is in it, except what
// the reviewer's words quote.
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

// logFindings counts what rules in audit would have refused, and puts a line in the
// log for each unless there are too many.
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

// describe says who wanted to write what. The uid is that of the review.
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

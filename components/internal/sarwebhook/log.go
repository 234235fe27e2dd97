// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// log writes one log line for every request that is not allowed. With -v=4 it writes one for every
// other request too.
func (h *Handler) log(a *authorizer.AttributesRecord, d rules.Decision, answer status) {
	logger, message := h.config.Logger, "Not allowed"
	if answer.Allowed {
		logger, message = logger.V(4), "Allowed"
		if !logger.Enabled() {
			return
		}
	} else if !h.lines.Admit(a.User.GetName()) {
		return
	}
	values := append(requestValues(a),
		"path", webhook.Loggable(a.Path),
		"decision", d.Effect.String(),
		"reason", answer.Reason,
		"error", answer.EvaluationError,
	)
	h.lines.Put(func() { logger.Info(message, values...) })
}

// requestValues returns the log keys and values that describe the request.
func requestValues(a *authorizer.AttributesRecord) []any {
	return []any{
		"user", webhook.Loggable(a.User.GetName()),
		"verb", webhook.Loggable(a.Verb),
		"group", webhook.Loggable(a.APIGroup),
		"resource", webhook.Loggable(a.Resource),
		"subresource", webhook.Loggable(a.Subresource),
		"namespace", webhook.Loggable(a.Namespace),
		"name", webhook.Loggable(a.Name),
	}
}

func (h *Handler) logPanic(a *authorizer.AttributesRecord, cause, stack string) {
	if !h.lines.Admit(a.User.GetName()) {
		return
	}
	h.lines.Put(func() { h.config.Logger.Error(nil, "Authorizer panicked", "cause", cause, "stack", stack) })
}

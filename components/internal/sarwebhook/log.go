// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"fmt"
	"runtime/debug"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// maxLogged bounds, in bytes, every string of a request that goes into a line.
const maxLogged = 256

// log puts one line in the log for what is not allowed, and one for anything else
// only when asked for with -v=4.
func (h *Handler) log(a *authorizer.AttributesRecord, answer status) {
	logger, message := h.config.Logger, "Not allowed"
	if answer.Allowed {
		logger, message = logger.V(4), "Allowed"
		if !logger.Enabled() {
			return
		}
	} else if !h.lines.admit(a.User.GetName()) {
		return
	}
	values := []any{
		"user", loggable(a.User.GetName()),
		"verb", loggable(a.Verb),
		"group", loggable(a.APIGroup),
		"resource", loggable(a.Resource),
		"subresource", loggable(a.Subresource),
		"namespace", loggable(a.Namespace),
		"name", loggable(a.Name),
		"path", loggable(a.Path),
		"decision", answer.decision(),
		"reason", answer.Reason,
		"error", answer.EvaluationError,
	}
	h.lines.put(func() { logger.Info(message, values...) })
}

func (h *Handler) logPanic(a *authorizer.AttributesRecord, cause any) {
	if !h.lines.admit(a.User.GetName()) {
		return
	}
	text, stack := loggable(fmt.Sprint(cause)), string(debug.Stack())
	h.lines.put(func() { h.config.Logger.Error(nil, "Authorizer panicked", "cause", text, "stack", stack) })
}

func loggable(s string) string { return printable(s, maxLogged) }

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"fmt"
	"runtime/debug"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// maxLogged bounds every string of a request that goes into a line.
const maxLogged = 256

// log writes one line for what is not allowed, and one for anything else only when asked
// for with -v=4. Refusals of one node past its bound are counted instead.
func (h *Handler) log(s *share, a *authorizer.AttributesRecord, answer status) {
	logger, message := h.config.Logger, "Not allowed"
	if answer.Allowed {
		logger, message = logger.V(4), "Allowed"
		if !logger.Enabled() {
			return
		}
	} else if !h.limiter.mayLog(s) {
		h.metrics.unlogged.Inc()
		return
	}
	logger.Info(message,
		"user", printable(a.User.GetName()),
		"verb", printable(a.Verb),
		"group", printable(a.APIGroup),
		"resource", printable(a.Resource),
		"subresource", printable(a.Subresource),
		"namespace", printable(a.Namespace),
		"name", printable(a.Name),
		"path", printable(a.Path),
		"decision", answer.decision(),
		"reason", printable(answer.Reason),
		"error", printable(answer.EvaluationError),
	)
}

// logOversize has nobody to name: the review was not read to its end.
func (h *Handler) logOversize(err error) {
	if !h.limiter.mayLog(h.limiter.others) {
		h.metrics.unlogged.Inc()
		return
	}
	h.config.Logger.Info("Not allowed", "decision", "deny", "reason", err.Error())
}

func (h *Handler) logPanic(s *share, cause any) {
	if h.limiter.mayLog(s) {
		h.config.Logger.Error(nil, "Authorizer panicked", "cause", printable(fmt.Sprint(cause)), "stack", string(debug.Stack()))
	}
}

// printable makes a string of a request safe to print: no control characters, no
// line breaks, nothing that changes the direction of text, and not too long.
func printable(s string) string {
	if len(s) > maxLogged {
		end := maxLogged
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

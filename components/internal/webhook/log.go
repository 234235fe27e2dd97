// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// logDecision logs one line for a request that is denied, or that a rule leaves to the next
// authorizers with a reason. With -v=4 it also logs one line for every other request. A finding has
// its own line.
func (h *Handler[Q]) logDecision(q Q, d rules.Decision) {
	logger, message := h.config.Logger, h.settings.Denied
	if d.Allowed() {
		message = h.settings.Allowed
	}
	if d.Allowed() || d.Effect == rules.NoOpinion && (d.Message == "" || len(d.Findings) > 0) {
		if logger = logger.V(4); !logger.Enabled() {
			return
		}
	} else if !h.lines.Admit(h.userName(q)) {
		return
	}
	values := append(h.protocol.Describe(q), h.protocol.Outcome(d)...)
	h.lines.Put(func() { logger.Info(message, values...) })
}

// logFindings counts requests that a rule in audit mode would have denied, and logs one line for
// each finding, up to the rate limit.
func (h *Handler[Q]) logFindings(q Q, node string, findings []rules.Finding) {
	for _, finding := range findings {
		h.Metrics.audited(finding.Rule, h.protocol.Labels(q), h.userName(q))
		if !h.audits.Admit(h.userName(q)) {
			continue
		}
		values := append(h.protocol.Describe(q), "rule", string(finding.Rule), "node", Loggable(node),
			"reason", Presentable(finding.Message))
		h.audits.Put(func() { h.config.Logger.Info(h.settings.Audited, values...) })
	}
}

func (h *Handler[Q]) logPanic(q Q, cause, stack string) {
	if !h.lines.Admit(h.userName(q)) {
		return
	}
	values := append(h.protocol.Describe(q), "cause", cause, "stack", stack)
	h.lines.Put(func() { h.config.Logger.Error(nil, h.settings.Panicked, values...) })
}

func (h *Handler[Q]) userName(q Q) string { return h.protocol.User(q).GetName() }

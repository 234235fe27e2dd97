// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// audited counts a request that a rule in audit mode would have denied, and logs one line, up to
// the rate limit.
func (h *Handler) audited(a *authorizer.AttributesRecord, finding rules.Finding) {
	h.metrics.Audited(finding.Rule, resourceLabel(a), verbLabel(a.Verb))
	if !h.audits.Admit(a.User.GetName()) {
		return
	}
	node, _ := h.config.NodeName(a.User)
	values := append([]any{
		"rule", string(finding.Rule),
		"node", webhook.Loggable(node),
	}, requestValues(a)...)
	h.audits.Put(func() { h.config.Logger.Info("Allowed, but refused if the rule were enforced", values...) })
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// audited counts a request that a rule in audit mode would have denied, and puts a line in
// the log unless there are too many.
func (h *Handler) audited(a *authorizer.AttributesRecord, finding rules.Finding) {
	h.metrics.Audited(finding.Rule, resourceLabel(a), verbLabel(a.Verb))
	if !h.audits.Admit(a.User.GetName()) {
		return
	}
	node, _ := h.config.NodeName(a.User)
	values := []any{
		"rule", string(finding.Rule),
		"node", webhook.Loggable(node),
		"user", webhook.Loggable(a.User.GetName()),
		"verb", webhook.Loggable(a.Verb),
		"group", webhook.Loggable(a.APIGroup),
		"resource", webhook.Loggable(a.Resource),
		"subresource", webhook.Loggable(a.Subresource),
		"namespace", webhook.Loggable(a.Namespace),
		"name", webhook.Loggable(a.Name),
	}
	h.audits.Put(func() { h.config.Logger.Info("Allowed, but refused if the rule were enforced", values...) })
}

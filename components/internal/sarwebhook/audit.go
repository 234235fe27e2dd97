// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Audited counts a request that is allowed although the rule, which is in audit,
// would have refused it, and puts a line in the log unless there are too many. It
// does not wait, and many may call it at one time.
func (h *Handler) Audited(rule rules.ID, node string, a authorizer.Attributes) {
	h.metrics.Audited(rule, resourceLabel(a), verbLabel(a.GetVerb()))
	if !h.audits.Admit(a.GetUser().GetName()) {
		return
	}
	values := []any{
		"rule", string(rule),
		"node", webhook.Loggable(node),
		"user", webhook.Loggable(a.GetUser().GetName()),
		"verb", webhook.Loggable(a.GetVerb()),
		"group", webhook.Loggable(a.GetAPIGroup()),
		"resource", webhook.Loggable(a.GetResource()),
		"subresource", webhook.Loggable(a.GetSubresource()),
		"namespace", webhook.Loggable(a.GetNamespace()),
		"name", webhook.Loggable(a.GetName()),
	}
	h.audits.Put(func() { h.config.Logger.Info("Allowed, but refused if the rule were enforced", values...) })
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// ReviewNode answers one write of a node, where node scope is on: by the rules of
// NodeRestriction, and by those that keep nodes from what scopes are made of. One of
// anybody else is admitted without a rule. It needs to know of no account, and so is
// ready when the rules are.
func (r *Reviewer) ReviewNode(ctx context.Context, a admission.Attributes) rules.Decision {
	if node, isNode := nodeidentity.NodeName(a.GetUserInfo()); isNode {
		if text := changesMark(a); text != "" {
			return forbid(a, byNode(a), fmt.Sprintf("node %q %s", node, text))
		}
	}
	return r.config.Nodes.Review(ctx, a)
}

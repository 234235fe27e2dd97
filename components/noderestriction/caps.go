// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// caps are the operator's bounds; without a configuration there are none.
func (q *request) caps() configuration.Caps {
	if q.configuration == nil {
		return configuration.Caps{}
	}
	return q.configuration.Caps
}

// reviewCap holds a node that makes one more object of a kind to most of them, of
// which 0 is no bound. A dry run makes none, but is told what the write would be
// told. Writes that are reviewed at the same moment do not see each other: their
// number is bounded by [limit].
func (r *Restriction) reviewCap(ctx context.Context, q *request, by rules.Rule, what Counted, most int,
	plural string) *rules.Decision {
	if most <= 0 {
		return nil
	}
	return r.holdToCap(ctx, q, by, what, most, plural)
}

func (r *Restriction) holdToCap(ctx context.Context, q *request, by rules.Rule, what Counted, most int,
	plural string) *rules.Decision {
	return r.optional(q, by, func() *rules.Decision {
		has, err := r.config.Cluster.Count(ctx, what, q.node, most)
		if err != nil {
			return q.raw(by, err)
		}
		if has >= most {
			return q.forbid(by, fmt.Sprintf("node %q has as many %s as one node may have: %d", q.node, plural, most))
		}
		return nil
	})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	podEviction = rules.Rule{
		ID:          "NR-POD-8",
		Description: "A node evicts only pods that are bound to it.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitPodEviction",
	}
	podSubresource = rules.Rule{
		ID:          "NR-POD-9",
		Description: "A node writes no subresource of a pod but its status and evictions.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go Admit",
	}
)

// reviewPodEviction goes by the name in the address of the request, and only
// without one by that in its body.
func (r *Restriction) reviewPodEviction(ctx context.Context, q *request) *rules.Decision {
	if q.GetOperation() != admission.Create {
		return q.forbid(podEviction, fmt.Sprintf("unexpected operation %s", q.GetOperation()))
	}
	eviction, ok := typed[policyv1.Eviction](q.GetObject())
	if !ok {
		return q.unexpected(podEviction, q.GetObject())
	}
	name := q.GetName()
	if name == "" {
		name = eviction.Name
	}
	if name == "" {
		return q.forbid(podEviction, "could not determine pod from request data")
	}
	pod, err := r.config.Cluster.Pod(ctx, q.GetNamespace(), name)
	if err != nil {
		return q.notFoundOr(podEviction, err, err.Error())
	}
	if pod.Spec.NodeName != q.node {
		return q.forbid(podEviction, fmt.Sprintf("node %s can only evict pods with spec.nodeName set to itself", q.node))
	}
	return nil
}

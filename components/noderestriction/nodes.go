// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	nodeOwnName = rules.Rule{
		ID: "NR-NODE-1",
		Description: "A node writes only the Node of its own name, and no subresource of another Node. A name " +
			"that the API server generates is not its own.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitNode",
	}
	nodeConfigSource = rules.Rule{
		ID:          "NR-NODE-2",
		Description: "A node does not set spec.configSource of its Node.",
		Source:      "plugin/pkg/admission/noderestriction/admission.go admitNode",
	}
	nodeLabels = rules.Rule{
		ID: "NR-NODE-3",
		Description: "If the configuration has no allowedLabels, a node does not set, change or remove a label " +
			"below node-restriction.kubernetes.io on its Node. Of the labels below kubernetes.io and k8s.io, it " +
			"writes only those of the kubelet.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitNode; KEP-279; kubernetes/design-proposals-archive " +
			"node/limit-node-object-self-control.md (Limiting Node Scope on the Node object)",
	}
	nodeTaints = rules.Rule{
		ID: "NR-NODE-4",
		Description: "A node does not change the taints of its existing Node, except those of changeableTaints in the " +
			"configuration.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitNode",
	}
	nodeOwners = rules.Rule{
		ID: "NR-NODE-5",
		Description: "A node does not change the ownerReferences of its Node. Otherwise the garbage collector " +
			"could delete the Node.",
		Source: "plugin/pkg/admission/noderestriction/admission.go admitNode; CVE-2025-5187",
	}
)

var nodeRules = []rules.Rule{
	nodeOwnName, nodeConfigSource, nodeLabels, nodeTaints, nodeOwners,
	nodeDelete, nodeLifetime,
}

// reviewNode uses the name in the request. The API server leaves it empty for a generated name and
// for a delete of a collection. The old and the new object must have the same name as the node.
func (r *Restriction) reviewNode(ctx context.Context, q *request) *rules.Decision {
	if q.GetName() != q.node {
		return q.notOwnNode(q.GetName())
	}
	if name, others := othersNode(q.GetObject(), q.node); others {
		return q.notOwnNode(name)
	}
	if name, others := othersNode(q.GetOldObject(), q.node); others {
		return q.notOwnNode(name)
	}
	switch q.GetOperation() {
	case admission.Create:
		return r.reviewNodeCreate(ctx, q)
	case admission.Update:
		return r.reviewNodeUpdate(ctx, q)
	case admission.Delete:
		return r.reviewNodeDelete(q)
	default:
		return nil
	}
}

func (q *request) notOwnNode(name string) *rules.Decision {
	return q.forbid(nodeOwnName, fmt.Sprintf("node %q is not allowed to modify node %q", q.node, name))
}

func othersNode(o runtime.Object, own string) (name string, others bool) {
	node, ok := typed[corev1.Node](o)
	if !ok || node.Name == own {
		return "", false
	}
	return node.Name, true
}

// reviewNodeCreate has no fixed rule on taints. The API server's plugin TaintNodesByCondition adds
// one before it calls the webhook. Only the operator's configuration can restrict taints at
// creation.
func (r *Restriction) reviewNodeCreate(ctx context.Context, q *request) *rules.Decision {
	node, ok := typed[corev1.Node](q.GetObject())
	if !ok {
		return q.unexpected(nodeOwnName, q.GetObject())
	}
	if node.Spec.ConfigSource != nil { //nolint:staticcheck // what is deprecated is refused
		// This is upstream's exact text.
		if denied := q.enforced(q.forbid(nodeConfigSource,
			fmt.Sprintf("node %q is not allowed to create pods with a non-nil configSource", q.node))); denied != nil {
			return denied
		}
	}
	if forbidden := forbiddenLabels(nil, node.Labels); !q.labelsReplaced(labelsOnCreate) && len(forbidden) > 0 {
		if denied := q.enforced(q.forbid(nodeLabels,
			fmt.Sprintf("node %q is not allowed to set the following labels: %s", q.node,
				strings.Join(forbidden, ", ")))); denied != nil {
			return denied
		}
	}
	return r.reviewNodeBesides(ctx, q, nil, node)
}

func (r *Restriction) reviewNodeUpdate(ctx context.Context, q *request) *rules.Decision {
	node, ok := typed[corev1.Node](q.GetObject())
	if !ok {
		return q.unexpected(nodeOwnName, q.GetObject())
	}
	old, ok := typed[corev1.Node](q.GetOldObject())
	if !ok {
		return q.unexpected(nodeOwnName, q.GetOldObject())
	}
	for _, denied := range []*rules.Decision{
		checkConfigSource(q, old, node), checkTaints(q, old, node), checkOwners(q, old, node), checkLabels(q, old, node),
	} {
		if denied = q.enforced(denied); denied != nil {
			return denied
		}
	}
	return r.reviewNodeBesides(ctx, q, old, node)
}

// checkConfigSource allows an old kubelet to remove the field when it writes its status. The removal
// is harmless.
func checkConfigSource(q *request, old, node *corev1.Node) *rules.Decision {
	was, is := old.Spec.ConfigSource, node.Spec.ConfigSource //nolint:staticcheck // what is deprecated is denied
	if is == nil || apiequality.Semantic.DeepEqual(is, was) {
		return nil
	}
	return q.forbid(nodeConfigSource,
		fmt.Sprintf("node %q is not allowed to update configSource to a new non-nil configSource", q.node))
}

func checkTaints(q *request, old, node *corev1.Node) *rules.Decision {
	if slices.EqualFunc(old.Spec.Taints, node.Spec.Taints, sameTaint) || q.exemptsTaints(old, node) ||
		q.mayChangeTaints(old, node) {
		return nil
	}
	return q.forbid(nodeTaints, fmt.Sprintf("node %q is not allowed to modify taints", q.node))
}

func checkOwners(q *request, old, node *corev1.Node) *rules.Decision {
	if slices.EqualFunc(old.OwnerReferences, node.OwnerReferences, sameOwner) {
		return nil
	}
	return q.forbid(nodeOwners, fmt.Sprintf("node %q is not allowed to modify ownerReferences", q.node))
}

func checkLabels(q *request, old, node *corev1.Node) *rules.Decision {
	forbidden := forbiddenLabels(old.Labels, node.Labels)
	if q.labelsReplaced(labelsOnUpdate) || len(forbidden) == 0 {
		return nil
	}
	return q.forbid(nodeLabels, "is not allowed to modify labels: "+strings.Join(forbidden, ", "))
}

// reviewNodeBesides checks Bulkhead's own rules, for a Node that upstream's rules admit.
func (r *Restriction) reviewNodeBesides(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	if refused := r.reviewNodeLifetime(q, old, node); refused != nil {
		return refused
	}
	if refused := r.reviewConfiguredNode(ctx, q, old, node); refused != nil {
		return refused
	}
	return r.reviewNodeExtensions(ctx, q, old, node)
}

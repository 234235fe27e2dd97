// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	taintsOnCreate = rules.Rule{
		ID: "NR-TAINT-1",
		Description: "If the configuration has allowedTaints, a node registers only with taints of those keys, " +
			"taints that the kubelet and the API server set by themselves, its sticky taints, the taints in its " +
			"row of the machine table, and bulkhead.dev/uninitialized (NR-MACHINE-1).",
		Source: "kubernetes/design-proposals-archive node/limit-node-object-self-control.md (Limiting Node Scope on the " +
			"Node object), Label And Taint Restriction",
		Extension: true, Configured: true,
	}
	stickyRequired = rules.Rule{
		ID: "NR-STICKY-1",
		Description: "A node registers only with every sticky taint that its Node had when it was last seen. A " +
			"taint is sticky if its key is marked as sticky. It stays so until it is removed from a Node of that " +
			"name, or an administrator clears it. A Node with bulkhead.dev/uninitialized needs none of those in its " +
			"row of the machine table.",
		Source: "kubernetes/design-proposals-archive node/limit-node-object-self-control.md (Limiting Node Scope on the " +
			"Node object), Removing self-delete from Node Permission; CVE-2025-5187",
		Extension: true, Configured: true,
	}
	stickyAbsent = rules.Rule{
		ID: "NR-STICKY-2",
		Description: "A node writes nothing to its Node while that Node was registered without a sticky taint of " +
			"the Node before it, no matter who registered it.",
		Source: "kubernetes/design-proposals-archive node/limit-node-object-self-control.md (Limiting Node Scope on the " +
			"Node object), Removing self-delete from Node Permission; Bulkhead: a creation that is admitted just before a " +
			"Node is " +
			"deleted",
		Extension: true, Configured: true,
	}
	stickyMany = rules.Rule{
		ID: "NR-STICKY-3",
		Description: "If taints are sticky, a node registers with at most 16 taints that are not stored for it, " +
			"and with no sticky taint beyond 16 that its own registrations have added. So it cannot use up the " +
			"space for taints that other users have set.",
		Source:    "Bulkhead: a hostile node must neither fill the memory nor displace what an administrator marked",
		Extension: true, Configured: true,
	}
)

// mostOwnTaints is far below the 64 taints that the history stores for one node. This leaves space
// for the taints that an administrator adds. The history stores at most this many of the taints
// that a Node was registered with. A kubelet registers with only a few.
const mostOwnTaints = 16

// taintsByThemselves are the keys of the taints that a node is registered with by default. The API
// server adds the first (plugin/pkg/admission/nodetaint) before it calls webhooks. Kubelets add the
// others.
var taintsByThemselves = map[string]bool{
	corev1.TaintNodeNotReady:                         true,
	corev1.TaintNodeUnschedulable:                    true,
	"node.cloudprovider.kubernetes.io/uninitialized": true,
}

// remembered returns the recorded taints that are still marked as sticky, and those of them that a
// Node was registered with.
func (r *Restriction) remembered(ctx context.Context, q *request) (kept NodeHistory, err error) {
	if q.configuration.StickyTaints == nil {
		return NodeHistory{}, nil
	}
	memory, err := r.config.Cluster.History(ctx, q.node)
	if err != nil {
		return NodeHistory{}, fmt.Errorf("looking up the taints of node %q before: %w", q.node, err)
	}
	return NodeHistory{Taints: q.stillSticky(memory.Taints), InitialTaints: q.stillSticky(memory.InitialTaints)}, nil
}

// withoutHistory denies a registration by the first enforced rule whose decision depends on the
// recorded taints. If there is none, it checks the machine table.
func (q *request) withoutHistory(node *corev1.Node, err error) *rules.Decision {
	refused := q.enforced(q.unknown(stickyRequired, err))
	if refused == nil && checkAllowedTaints(q, node, NodeHistory{}) != nil {
		refused = q.enforced(q.unknown(taintsOnCreate, err))
	}
	marked := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return q.configuration.StickyTaints.Has(taint.Key)
	})
	if refused == nil && (marked || checkManyTaints(q, node, NodeHistory{}) != nil) {
		refused = q.enforced(q.unknown(stickyMany, err))
	}
	if refused == nil {
		refused = q.enforced(reviewMachine(q, node))
	}
	return refused
}

func (q *request) stillSticky(taints []corev1.Taint) []corev1.Taint {
	var sticky []corev1.Taint
	for _, taint := range taints {
		if q.configuration.StickyTaints.Has(taint.Key) {
			sticky = append(sticky, taint)
		}
	}
	return sticky
}

// unknown denies with 500, because the lookup can succeed on a retry. It removes the status of the
// error: that status belongs to node-restriction's own API call, not to the node's request.
func (q *request) unknown(r rules.Rule, err error) *rules.Decision {
	return q.raw(r, errors.New(err.Error()))
}

func checkAllowedTaints(q *request, node *corev1.Node, remembered NodeHistory) *rules.Decision {
	var forbidden []string
	for _, taint := range node.Spec.Taints {
		if !has(remembered.Taints, taint) && !mayRegisterWith(q.configuration, q.machine(), taint) {
			forbidden = append(forbidden, taint.Key)
		}
	}
	if len(forbidden) == 0 {
		return nil
	}
	slices.Sort(forbidden)
	return q.forbid(taintsOnCreate,
		fmt.Sprintf("node %q is not allowed to set the following taints: %s", q.node, some(slices.Compact(forbidden))))
}

func checkManyTaints(q *request, node *corev1.Node, remembered NodeHistory) *rules.Decision {
	if q.configuration.StickyTaints == nil {
		return nil
	}
	fresh, marked := 0, 0
	for _, taint := range node.Spec.Taints {
		if has(remembered.Taints, taint) {
			continue
		}
		if !taintsByThemselves[taint.Key] {
			fresh++
		}
		if q.configuration.StickyTaints.Has(taint.Key) {
			marked++
		}
	}
	if fresh > mostOwnTaints {
		return q.forbid(stickyMany,
			fmt.Sprintf("node %q is not allowed to set more than %d taints that are not remembered of it", q.node,
				mostOwnTaints))
	}
	if marked > 0 && marked+len(remembered.InitialTaints) > mostOwnTaints {
		return q.forbid(stickyMany,
			fmt.Sprintf("node %q is not allowed to set more than %d taints that are marked as sticky, and %d of its own are "+
				"remembered", q.node, mostOwnTaints, len(remembered.InitialTaints)))
	}
	return nil
}

// mayRegisterWith allows all taints if the policy is nil or has no allowedTaints.
func mayRegisterWith(policy *configuration.Configuration, row *configuration.Machine, taint corev1.Taint) bool {
	if policy == nil || policy.AllowedTaints == nil {
		return true
	}
	if taintsByThemselves[taint.Key] || configuration.IsStartupTaint(taint) || policy.AllowedTaints.Has(taint.Key) {
		return true
	}
	return row != nil && has(row.Taints, taint)
}

// reviewRemembered requires the recorded taints that are missing. A Node with the startup taint needs
// none of those of its row, because machine-table-controller adds them. While the Node exists, the
// answer is the one that the API server would give: a kubelet that starts always tries to register. The
// request must not pass, because the Node may be deleted before the API server stores the new one. In
// mode audit it passes, because the API server gives this answer anyway.
func (r *Restriction) reviewRemembered(ctx context.Context, q *request, node *corev1.Node,
	remembered []corev1.Taint) *rules.Decision {
	missing := without(remembered, node.Spec.Taints)
	if row := q.machine(); row != nil &&
		slices.ContainsFunc(node.Spec.Taints, configuration.IsStartupTaint) {
		missing = without(missing, row.Taints)
	}
	if len(missing) == 0 {
		return nil
	}
	_, err := r.config.Cluster.Node(ctx, q.node)
	if err == nil && q.modeOf(stickyRequired.ID) != rules.Enforce {
		return nil
	}
	if err == nil {
		return q.raw(stickyRequired, apierrors.NewAlreadyExists(corev1.Resource("nodes"), q.node))
	}
	if !apierrors.IsNotFound(err) {
		return q.unknown(stickyRequired, fmt.Errorf("looking up node %q: %w", q.node, err))
	}
	return q.forbid(stickyRequired,
		fmt.Sprintf("node %q had taints that it must be registered with again: %s (give them to the kubelet, or have an "+
			"administrator run: bulkhead taints clear %s)", q.node, someTaints(missing), q.node))
}

// reviewAbsentTaints prevents a Node that was registered without its sticky taints from becoming
// ready. It identifies such a Node by its UID. So it does not require a taint that an administrator
// has removed from the Node.
func (r *Restriction) reviewAbsentTaints(ctx context.Context, q *request, old *corev1.Node) *rules.Decision {
	if q.configuration.StickyTaints == nil {
		return nil
	}
	memory, err := r.config.Cluster.History(ctx, q.node)
	if err != nil {
		return q.unknown(stickyAbsent, fmt.Errorf("looking up the taints of node %q before: %w", q.node, err))
	}
	wanted := memory.Absent
	if memory.UID != "" && memory.UID != old.UID {
		// The watch has not delivered this Node yet, so the history is about the previous Node.
		wanted = memory.Taints
	}
	missing := without(q.stillSticky(wanted), old.Spec.Taints)
	if len(missing) == 0 {
		return nil
	}
	return q.forbid(stickyAbsent,
		fmt.Sprintf("node %q was registered again without taints that it had: %s (an administrator has to put them on the "+
			"Node, or run: bulkhead taints clear %s)", q.node, someTaints(missing), q.node))
}

// mayChangeTaints reports whether the operator lets nodes change each taint that the write adds, changes
// or removes. A sticky taint, one of the machine table, and the startup taint stay, whatever is
// listed.
func (q *request) mayChangeTaints(old, node *corev1.Node) bool {
	if q.configuration == nil || q.configuration.ChangeableTaints == nil {
		return false
	}
	return !q.changesTaint(old, node, func(taint corev1.Taint) bool {
		return !q.configuration.ChangeableTaints.Has(taint.Key) || q.keepsTaint(taint)
	})
}

// keepsTaint reports whether no account that is limited to the node may add, change or remove the
// taint: it is sticky, it is in the node's row of the machine table, or it is the startup taint.
func (q *request) keepsTaint(taint corev1.Taint) bool {
	row := q.machine()
	return q.configuration.StickyTaints.Has(taint.Key) || taint.Key == configuration.StartupTaint ||
		row != nil && has(row.Taints, taint)
}

// changesTaint reports whether the write adds, changes or removes a taint of this kind.
func (q *request) changesTaint(old, node *corev1.Node, kind func(corev1.Taint) bool) bool {
	return slices.ContainsFunc(changedTaints(old.Spec.Taints, node.Spec.Taints), kind) ||
		slices.ContainsFunc(changedTaints(node.Spec.Taints, old.Spec.Taints), kind)
}

// changedTaints returns the taints of before that after has not, or has with another time.
func changedTaints(before, after []corev1.Taint) (changed []corev1.Taint) {
	for _, taint := range before {
		if !slices.ContainsFunc(after, func(other corev1.Taint) bool { return sameTaint(taint, other) }) {
			changed = append(changed, taint)
		}
	}
	return changed
}

// without returns the taints of the list wanted that are missing in the list there.
func without(wanted, there []corev1.Taint) []corev1.Taint {
	var missing []corev1.Taint
	for _, taint := range wanted {
		if !has(there, taint) {
			missing = append(missing, taint)
		}
	}
	return missing
}

// has compares key, value and effect, but not the time at which a taint was added.
func has(taints []corev1.Taint, taint corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool {
		return t.Key == taint.Key && t.Value == taint.Value && t.Effect == taint.Effect
	})
}

func someTaints(taints []corev1.Taint) string {
	names := make([]string, 0, len(taints))
	for _, taint := range taints {
		names = append(names, taint.ToString())
	}
	return some(names)
}

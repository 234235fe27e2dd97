// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	labelsOnCreate = rules.Rule{
		ID: "NR-LABEL-1",
		Description: "If the configuration has allowedLabels, a node registers only with labels of those keys, " +
			"labels that the kubelet sets by itself, and labels with the same value in its row of the machine " +
			"table.",
		Source: "kubernetes/design-proposals-archive node/limit-node-object-self-control.md (Limiting Node Scope on the " +
			"Node object), Label And Taint Restriction",
		Extension: true, Configured: true,
	}
	labelsOnUpdate = rules.Rule{
		ID: "NR-LABEL-2",
		Description: "If the configuration has allowedLabels, a node adds, changes and removes on its Node only " +
			"labels with keys that NR-LABEL-1 allows.",
		Source: "kubernetes/design-proposals-archive node/limit-node-object-self-control.md (Limiting Node Scope on the " +
			"Node object), Label And Taint Restriction",
		Extension: true, Configured: true,
	}
)

var nodeConfiguredRules = []rules.Rule{
	labelsOnCreate, labelsOnUpdate, taintsOnCreate, stickyRequired, stickyAbsent, stickyMany, machineTaints, machineLabels,
	machineAddresses,
}

// labelsByKubelet are the label keys that a kubelet sets without configuration
// (pkg/kubelet/kubelet_node_status.go initialNode, updateDefaultLabels). Keys that upstream only
// allows in --node-labels are not included.
var labelsByKubelet = map[string]bool{
	corev1.LabelHostname:                true,
	corev1.LabelOSStable:                true,
	corev1.LabelArchStable:              true,
	corev1.LabelWindowsBuild:            true,
	corev1.LabelInstanceTypeStable:      true,
	corev1.LabelTopologyZone:            true,
	corev1.LabelTopologyRegion:          true,
	corev1.LabelInstanceType:            true,
	corev1.LabelFailureDomainBetaZone:   true,
	corev1.LabelFailureDomainBetaRegion: true,
	"beta.kubernetes.io/os":             true,
	"beta.kubernetes.io/arch":           true,
}

// labelsReplaced reports whether the operator's list of labels replaces upstream's fixed policy. A list
// that is audited by itself, with by, replaces nothing: its rule denies nothing.
func (q *request) labelsReplaced(by rules.Rule) bool {
	return q.labelsConfigured() && (q.auditOnly || q.modeOf(by.ID) == rules.Enforce)
}

func (q *request) labelsConfigured() bool {
	return q.configuration != nil && q.configuration.AllowedLabels != nil
}

// reviewConfiguredNode checks the operator's configuration for a Node that is created or updated.
// old is nil if it is created.
func (r *Restriction) reviewConfiguredNode(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	if q.configuration == nil {
		return nil
	}
	if refused := q.enforced(checkMachineAddresses(q, old, node)); refused != nil {
		return refused
	}
	if old == nil {
		return r.reviewRegistration(ctx, q, node)
	}
	if refused := reviewChangedLabels(q, old, node); refused != nil {
		return refused
	}
	return q.enforced(r.reviewAbsentTaints(ctx, q, old))
}

func (r *Restriction) reviewRegistration(ctx context.Context, q *request, node *corev1.Node) *rules.Decision {
	if refused := reviewNewLabels(q, node); refused != nil {
		return refused
	}
	remembered, err := r.remembered(ctx, q)
	if err != nil {
		return q.withoutHistory(node, err)
	}
	if refused := q.enforced(checkAllowedTaints(q, node, remembered)); refused != nil {
		return refused
	}
	if refused := q.enforced(checkManyTaints(q, node, remembered)); refused != nil {
		return refused
	}
	if refused := q.enforced(reviewMachine(q, node)); refused != nil {
		return refused
	}
	return q.enforced(r.reviewRemembered(ctx, q, node, remembered.Taints))
}

func reviewNewLabels(q *request, node *corev1.Node) *rules.Decision {
	changed := changedLabels(nil, node.Labels)
	if refused := q.enforced(reviewMachineLabels(q, changed, node.Labels)); refused != nil {
		return refused
	}
	if unlisted := q.unlisted(changed, node.Labels); len(unlisted) > 0 {
		return q.enforced(q.forbid(labelsOnCreate,
			fmt.Sprintf("node %q is not allowed to set the following labels: %s", q.node, some(unlisted))))
	}
	return nil
}

func reviewChangedLabels(q *request, old, node *corev1.Node) *rules.Decision {
	changed := changedLabels(old.Labels, node.Labels)
	if len(changed) == 0 {
		return nil
	}
	if refused := q.enforced(reviewMachineLabels(q, changed, node.Labels)); refused != nil {
		return refused
	}
	if unlisted := q.unlisted(changed, node.Labels); len(unlisted) > 0 {
		return q.enforced(q.forbid(labelsOnUpdate, "is not allowed to modify labels: "+some(unlisted)))
	}
	return nil
}

// unlisted returns the changed keys that the operator's list does not contain.
func (q *request) unlisted(changed []string, now map[string]string) []string {
	if !q.labelsConfigured() {
		return nil
	}
	return unlistedLabels(q.configuration, q.node, changed, now)
}

// unlistedLabels allows a label with the value of the machine table, because the table requires
// that value.
func unlistedLabels(policy *configuration.Configuration, node string, changed []string,
	now map[string]string) []string {
	row := policy.MachineFor(node)
	return slices.DeleteFunc(changed, func(key string) bool {
		if labelsByKubelet[key] || policy.AllowedLabels.Has(key) {
			return true
		}
		return row != nil && inTable(row.Labels, now, key)
	})
}

// inTable reports whether the label has the value of the machine table.
func inTable(row, now map[string]string, key string) bool {
	want, listed := row[key]
	value, set := now[key]
	return listed && set && value == want
}

// changedLabels returns the keys that were added, removed or changed.
func changedLabels(old, now map[string]string) []string {
	var changed []string
	for key, value := range now {
		if before, was := old[key]; !was || before != value {
			changed = append(changed, key)
		}
	}
	for key := range old {
		if _, is := now[key]; !is {
			changed = append(changed, key)
		}
	}
	return changed
}

// some returns the names in order. It limits their number, to keep messages readable.
func some(names []string) string {
	const most = 10
	slices.Sort(names)
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

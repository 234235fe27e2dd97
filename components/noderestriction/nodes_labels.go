// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// forbiddenLabels returns, in order, the keys that were added, removed or changed and that
// upstream's fixed policy denies to nodes.
func forbiddenLabels(old, labels map[string]string) []string {
	var forbidden []string
	for key, value := range labels {
		if before, had := old[key]; (!had || before != value) && !mayLabel(key) {
			forbidden = append(forbidden, key)
		}
	}
	for key := range old {
		if _, has := labels[key]; !has && !mayLabel(key) {
			forbidden = append(forbidden, key)
		}
	}
	slices.Sort(forbidden)
	return forbidden
}

// mayLabel reports whether upstream's fixed policy lets nodes write the key. Source:
// plugin/pkg/admission/noderestriction/admission.go getForbiddenLabels.
func mayLabel(key string) bool {
	domain, _, hasDomain := strings.Cut(key, "/")
	if !hasDomain {
		return true
	}
	if within(domain, corev1.LabelNamespaceNodeRestriction) {
		return false
	}
	if !within(domain, "kubernetes.io") && !within(domain, "k8s.io") {
		return true
	}
	return isKubeletLabel(key, domain)
}

// isKubeletLabel reports whether a kubelet sets the key, by itself or by --node-labels. Source:
// k8s.io/kubelet/pkg/apis/well_known_labels.go IsKubeletLabel.
func isKubeletLabel(key, domain string) bool {
	switch key {
	case corev1.LabelHostname, corev1.LabelOSStable, corev1.LabelArchStable,
		"beta.kubernetes.io/os", "beta.kubernetes.io/arch",
		corev1.LabelInstanceType, corev1.LabelInstanceTypeStable,
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion:
		return true
	}
	return within(domain, corev1.LabelNamespaceSuffixKubelet) || within(domain, corev1.LabelNamespaceSuffixNode)
}

// within reports whether domain is parent or a subdomain of it.
func within(domain, parent string) bool {
	rest, ok := strings.CutSuffix(domain, parent)
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}

// sameTaint compares the value of the pointer field, then all other fields with ==. So it also
// compares a field that Kubernetes adds later, or it does not compile.
func sameTaint(a, b corev1.Taint) bool {
	if !a.TimeAdded.Equal(b.TimeAdded) {
		return false
	}
	a.TimeAdded, b.TimeAdded = nil, nil
	return a == b
}

// sameOwner compares in the same way as sameTaint.
func sameOwner(a, b metav1.OwnerReference) bool {
	if !ptr.Equal(a.Controller, b.Controller) || !ptr.Equal(a.BlockOwnerDeletion, b.BlockOwnerDeletion) {
		return false
	}
	a.Controller, a.BlockOwnerDeletion = nil, nil
	b.Controller, b.BlockOwnerDeletion = nil, nil
	return a == b
}

var (
	labelHostname = rules.Rule{
		ID: "NR-LABEL-3",
		Description: "A node sets the label kubernetes.io/hostname of its Node only to its own name, to the value " +
			"in the machine table, or, when it registers again, to the value that its Node had.",
		Source: "Bulkhead; pkg/kubelet/kubelet_node_status.go initialNode: the hostname of a kubelet is the name of its " +
			"Node. Local volumes, node selectors and topology spread constraints select nodes by this label",
		Extension: true,
		Optional:  true,
	}
	labelsSetOnce = rules.Rule{
		ID: "NR-LABEL-4",
		Description: "A node neither changes nor removes a label of its Node. Exceptions are " +
			"kubernetes.io/hostname, the Windows build, labels in the machine table, and changeableLabels of the " +
			"configuration. It may set the labels of its operating system and architecture back to what its Node " +
			"reported before. It does not change what it reports of these.",
		Source: "Bulkhead; pkg/kubelet/kubelet_node_status.go updateDefaultLabels, " +
			"pkg/volume/csi/nodeinfomanager/nodeinfomanager.go updateTopologyLabels: " +
			"a kubelet adds labels, and changes one only if its own configuration has changed",
		Extension: true,
		Optional:  true,
	}
)

// reviewOwnLabels checks the values of labels. Other rules check the keys. old is nil if the Node
// is created.
func (r *Restriction) reviewOwnLabels(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	creates := old == nil
	if creates {
		old = noNode
	}
	if !sameLabel(old, node, corev1.LabelHostname) {
		if refused := r.optional(q, labelHostname, func() *rules.Decision {
			return r.checkHostname(ctx, q, creates, node)
		}); refused != nil {
			return refused
		}
	}
	if creates {
		return nil
	}
	return r.optional(q, labelsSetOnce, func() *rules.Decision { return checkLabelsSetOnce(q, old, node) })
}

// checkHostname is called only if the value differs from that of the old Node.
func (r *Restriction) checkHostname(ctx context.Context, q *request, creates bool, node *corev1.Node) *rules.Decision {
	value := node.Labels[corev1.LabelHostname]
	if value == q.node || q.hasFromTable(node.Labels, corev1.LabelHostname) {
		return nil
	}
	if creates {
		last, err := r.config.Cluster.LastReported(ctx, q.node)
		if err != nil {
			return q.raw(labelHostname, err)
		}
		if value != "" && value == last.Hostname {
			return nil
		}
	}
	return q.forbid(labelHostname,
		fmt.Sprintf("node %q is not allowed to set the label %s to %.63q", q.node, corev1.LabelHostname, value))
}

func checkLabelsSetOnce(q *request, old, node *corev1.Node) *rules.Decision {
	if reportsOther(old, node) {
		return q.forbid(labelsSetOnce, fmt.Sprintf("node %q is not allowed to change the operating system or "+
			"the architecture that its Node reports", q.node))
	}
	var changed []string
	for key := range old.Labels {
		if !sameLabel(old, node, key) && !q.mayChangeLabel(key, old, node) {
			changed = append(changed, key)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return q.forbid(labelsSetOnce,
		fmt.Sprintf("node %q is not allowed to change or remove labels that its Node has: %s", q.node, someOf(changed)))
}

func sameLabel(old, node *corev1.Node, key string) bool {
	before, had := old.Labels[key]
	value, has := node.Labels[key]
	return had == has && before == value
}

// mayChangeLabel reports whether the node may remove or change the label. A separate rule checks
// kubernetes.io/hostname.
func (q *request) mayChangeLabel(key string, old, node *corev1.Node) bool {
	switch key {
	case corev1.LabelHostname, corev1.LabelWindowsBuild:
		return true
	case corev1.LabelOSStable, "beta.kubernetes.io/os":
		if equalsReported(node.Labels, key, old.Status.NodeInfo.OperatingSystem) {
			return true
		}
	case corev1.LabelArchStable, "beta.kubernetes.io/arch":
		if equalsReported(node.Labels, key, old.Status.NodeInfo.Architecture) {
			return true
		}
	}
	return q.configuration != nil && q.configuration.ChangeableLabels.Has(key) || q.hasFromTable(node.Labels, key)
}

// equalsReported lets a kubelet repair a label that another client has changed.
func equalsReported(labels map[string]string, key, reported string) bool {
	value, has := labels[key]
	return has && reported != "" && value == reported
}

// reportsOther reports whether the operating system or the architecture in the status differs from
// the one that the Node reported before.
func reportsOther(old, node *corev1.Node) bool {
	was, is := &old.Status.NodeInfo, &node.Status.NodeInfo
	return was.OperatingSystem != "" && was.OperatingSystem != is.OperatingSystem ||
		was.Architecture != "" && was.Architecture != is.Architecture
}

// hasFromTable reports whether the label has the value of the node's row in the machine table.
func (q *request) hasFromTable(labels map[string]string, key string) bool {
	if q.configuration == nil {
		return false
	}
	row := q.machine()
	return row != nil && inTable(row.Labels, labels, key)
}

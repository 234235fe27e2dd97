// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// forbiddenLabels are the keys, in order, that are new, gone or of another value and
// that upstream's fixed policy keeps from nodes.
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

// mayLabel is true for keys that upstream's fixed policy leaves to nodes. Source:
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

// isKubeletLabel is true for the keys that a kubelet sets by itself or by
// --node-labels. Source: k8s.io/kubelet/pkg/apis/well_known_labels.go IsKubeletLabel.
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

// within is true for a domain and what lies below it.
func within(domain, parent string) bool {
	rest, ok := strings.CutSuffix(domain, parent)
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}

// sameTaint compares what a pointer points to, and then all that is left: a field
// that Kubernetes adds later is compared as well, or does not compile.
func sameTaint(a, b corev1.Taint) bool {
	if !a.TimeAdded.Equal(b.TimeAdded) {
		return false
	}
	a.TimeAdded, b.TimeAdded = nil, nil
	return a == b
}

// sameOwner compares as sameTaint does.
func sameOwner(a, b metav1.OwnerReference) bool {
	if !ptr.Equal(a.Controller, b.Controller) || !ptr.Equal(a.BlockOwnerDeletion, b.BlockOwnerDeletion) {
		return false
	}
	a.Controller, a.BlockOwnerDeletion = nil, nil
	b.Controller, b.BlockOwnerDeletion = nil, nil
	return a == b
}

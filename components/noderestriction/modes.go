// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Modes gives all optional rules of this component one mode.
func Modes(mode rules.Mode) map[rules.ID]rules.Mode { return rules.Modes(Rules, mode) }

// ParseModes is [rules.ParseModes] for the rules of this component.
func ParseModes(all rules.Mode, single map[string]string) (modes map[rules.ID]rules.Mode, problems []error) {
	return rules.ParseModes(Rules, all, single)
}

// anyOn is true if one of the optional rules has a part in answers.
func anyOn(modes map[rules.ID]rules.Mode, table []rules.Rule) bool {
	return slices.ContainsFunc(table, func(by rules.Rule) bool { return modes[by.ID] != rules.Off })
}

// off is true for an optional rule that has no part in any answer.
func (r *Restriction) off(by rules.Rule) bool { return r.config.Modes[by.ID] == rules.Off }

// optional runs the check of one optional rule as its mode says: not at all, or so
// that it denies, or so that it is only reported.
func (r *Restriction) optional(q *request, by rules.Rule, check func() *rules.Decision) *rules.Decision {
	if r.off(by) || q.exempts(by) {
		return nil
	}
	denied := check()
	if denied == nil || r.config.Modes[by.ID] == rules.Enforce {
		return denied
	}
	q.audit(denied)
	return nil
}

// Exemptable are the rules that [Restriction.ReviewExempting] can leave out. Each is about
// what a node may say of its own objects; none is what keeps it to those.
var Exemptable = []rules.ID{nodeTaints.ID, nodeCordon.ID, nodeAnnotations.ID, podStatusAnnotations.ID, eventSource.ID}

// exempts is false for a rule that is not in [Exemptable], whatever exempted says.
func (q *request) exempts(by rules.Rule) bool {
	return q.exempted != nil && slices.Contains(Exemptable, by.ID) && q.exempted(by.ID)
}

// exemptsTaints leaves as they are those taints that the operator marked as sticky: whoever
// has a part of a node must not take its quarantine off, nor use its memory up.
func (q *request) exemptsTaints(old, node *corev1.Node) bool {
	if !q.exempts(nodeTaints) {
		return false
	}
	if q.configuration == nil || q.configuration.StickyTaints == nil {
		return true
	}
	before, after := q.stillSticky(old.Spec.Taints), q.stillSticky(node.Spec.Taints)
	return len(without(before, after)) == 0 && len(without(after, before)) == 0
}

// Features are the feature gates of kube-apiserver that change what a node may
// write. They must be set as the API server in front has them. Gates that no
// longer change a decision in 1.37 (DynamicResourceAllocation, …) are left out.
//
// The zero value has everything off; start from [DefaultFeatures].
type Features struct {
	// ServiceAccountNodeAudienceRestriction holds the audience of a token that a node
	// asks for to those that its pod uses.
	ServiceAccountNodeAudienceRestriction bool
	// PodCertificateRequest lets a node make PodCertificateRequests for its pods.
	PodCertificateRequest bool
	// RecoverVolumeExpansionFailure lets a node report what a claim's expansion was
	// allocated. It can be off only on servers before 1.34.
	RecoverVolumeExpansionFailure bool
	// AllowInsecureKubeletCertificateSigningRequests lets a node ask for a kubelet
	// certificate in any name.
	AllowInsecureKubeletCertificateSigningRequests bool
	// CSIVolumeHealth lets a node report the status of its CSINode.
	CSIVolumeHealth bool
}

// DefaultFeatures are the defaults of Kubernetes 1.37.
func DefaultFeatures() Features {
	return Features{
		ServiceAccountNodeAudienceRestriction:          true,
		PodCertificateRequest:                          true,
		RecoverVolumeExpansionFailure:                  true,
		AllowInsecureKubeletCertificateSigningRequests: false,
		CSIVolumeHealth:                                false,
	}
}

// ByGate returns the features under the names that kube-apiserver's
// --feature-gates gives them. Writing through the pointers changes f.
func (f *Features) ByGate() map[string]*bool {
	return map[string]*bool{
		"ServiceAccountNodeAudienceRestriction":          &f.ServiceAccountNodeAudienceRestriction,
		"PodCertificateRequest":                          &f.PodCertificateRequest,
		"RecoverVolumeExpansionFailure":                  &f.RecoverVolumeExpansionFailure,
		"AllowInsecureKubeletCertificateSigningRequests": &f.AllowInsecureKubeletCertificateSigningRequests,
		"CSIVolumeHealth":                                &f.CSIVolumeHealth,
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Modes returns the modes of this component's rules, with one mode for all optional rules. See
// [rules.Modes].
func Modes(mode rules.Mode) map[rules.ID]rules.Mode { return rules.Modes(Rules, mode) }

// anyOn reports whether one of the rules in the table is not off.
func anyOn(modes map[rules.ID]rules.Mode, table []rules.Rule) bool {
	return slices.ContainsFunc(table, func(by rules.Rule) bool { return modes[by.ID] != rules.Off })
}

// audited returns modes in which a rule that was enforced is audited.
func audited(modes map[rules.ID]rules.Mode) map[rules.ID]rules.Mode {
	modes = maps.Clone(modes)
	for id, mode := range modes {
		if mode == rules.Enforce {
			modes[id] = rules.Audit
		}
	}
	return modes
}

func (r *Restriction) off(by rules.Rule) bool { return r.config.Modes[by.ID] == rules.Off }

// optional runs the check of one optional rule according to its mode. Off skips the check. Enforce
// denies. Audit only reports the denial.
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

// Exemptable lists the rules that [Restriction.ReviewExempting] can skip. Each is about the content
// of a node's own objects. None is a rule that limits a node to its own objects.
var Exemptable = []rules.ID{nodeTaints.ID, nodeCordon.ID, nodeAnnotations.ID, podStatusAnnotations.ID, eventSource.ID}

// exempts returns false for a rule that is not in [Exemptable], even if exempted returns true.
func (q *request) exempts(by rules.Rule) bool {
	return q.exempted != nil && slices.Contains(Exemptable, by.ID) && q.exempted(by.ID)
}

// exemptsTaints reports whether the write is exempt from NR-NODE-4. A write that changes a sticky
// taint, one of the machine table, or the startup taint is not exempt. Otherwise an account with a
// scope on the node could remove the node's quarantine, or fill the space for recorded taints.
func (q *request) exemptsTaints(old, node *corev1.Node) bool {
	return q.exempts(nodeTaints) && (q.configuration == nil || !q.changesTaint(old, node, q.keepsTaint))
}

// Features are the feature gates of kube-apiserver that change what a node may write. Set them as
// on the API server that calls the webhook. Gates that no longer change a decision in 1.37, such as
// DynamicResourceAllocation, are not included.
//
// In the zero value, every feature is off. Start from [DefaultFeatures].
type Features struct {
	// ServiceAccountNodeAudienceRestriction limits the audience of a token that a node requests to
	// the audiences that its pod uses.
	ServiceAccountNodeAudienceRestriction bool
	// PodCertificateRequest lets a node create PodCertificateRequests for its pods.
	PodCertificateRequest bool
	// RecoverVolumeExpansionFailure lets a node report the resources that are allocated for the
	// expansion of a claim. It can be off only on API servers before 1.34.
	RecoverVolumeExpansionFailure bool
	// AllowInsecureKubeletCertificateSigningRequests lets a node request a kubelet certificate for
	// any name.
	AllowInsecureKubeletCertificateSigningRequests bool
	// CSIVolumeHealth lets a node report the status of its CSINode.
	CSIVolumeHealth bool
}

// DefaultFeatures returns the defaults of Kubernetes 1.37.
func DefaultFeatures() Features {
	return Features{
		ServiceAccountNodeAudienceRestriction:          true,
		PodCertificateRequest:                          true,
		RecoverVolumeExpansionFailure:                  true,
		AllowInsecureKubeletCertificateSigningRequests: false,
		CSIVolumeHealth:                                false,
	}
}

// ByGate returns the features by their names in kube-apiserver's --feature-gates. A write through a
// pointer changes f.
func (f *Features) ByGate() map[string]*bool {
	return map[string]*bool{
		"ServiceAccountNodeAudienceRestriction":          &f.ServiceAccountNodeAudienceRestriction,
		"PodCertificateRequest":                          &f.PodCertificateRequest,
		"RecoverVolumeExpansionFailure":                  &f.RecoverVolumeExpansionFailure,
		"AllowInsecureKubeletCertificateSigningRequests": &f.AllowInsecureKubeletCertificateSigningRequests,
		"CSIVolumeHealth":                                &f.CSIVolumeHealth,
	}
}

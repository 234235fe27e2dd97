// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// wouldRefuse is the audit annotation with what an account in audit would have been told.
const wouldRefuse = "would-refuse"

// forbid refuses with 403, in the form of upstream, and the rule at the end.
func forbid(a admission.Attributes, by rules.Rule, text string) noderestriction.Verdict {
	refused := apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), errors.New(by.Reason(text)))
	return noderestriction.Verdict{Rule: by.ID, Refusal: refused}
}

// citing puts another rule behind the one that refused, and keeps all else: a 404 stays a
// 404, so that whoever writes does what a kubelet would.
func citing(v noderestriction.Verdict, by rules.Rule) noderestriction.Verdict {
	if v.Admitted() {
		return v
	}
	status := v.Refusal.ErrStatus
	status.Message = by.Reason(status.Message)
	v.Rule, v.Refusal = by.ID, &apierrors.StatusError{ErrStatus: status}
	return v
}

// onlyTold admits what would have been refused, and tells of it.
func onlyTold(v noderestriction.Verdict) noderestriction.Verdict {
	if v.Admitted() {
		return v
	}
	told := map[string]string{wouldRefuse: v.Refusal.ErrStatus.Message}
	found := v.Findings()
	maps.Copy(told, found.Annotations)
	found.Annotations, found.Audited = told, append(found.Audited, v.Rule)
	return noderestriction.Verdict{Told: &found}
}

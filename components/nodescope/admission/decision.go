// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// wouldRefuse is the audit annotation with what an account in audit would have been told.
const wouldRefuse = "would-refuse"

// admitted is the decision on what no rule denies.
var admitted = rules.Decision{Effect: rules.Allow}

// forbid denies with 403, in the form of upstream, and the rule at the end.
func forbid(a admission.Attributes, by rules.Rule, text string) rules.Decision {
	status := apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), errors.New(by.Reason(text))).ErrStatus
	return rules.Decision{Rule: by.ID, Message: text, Status: &status}
}

// citing puts another rule behind the one that denied, and keeps all else: a 404 stays a
// 404, so that whoever writes does what a kubelet would.
func citing(d rules.Decision, by rules.Rule) rules.Decision {
	if d.Allowed() {
		return d
	}
	d.Message, d.Rule = d.Reason(), by.ID
	if d.Status != nil {
		status := *d.Status
		status.Message = by.Reason(status.Message)
		d.Status = &status
	}
	return d
}

// onlyFound admits what would have been denied, and makes it a finding.
func onlyFound(d rules.Decision) rules.Decision {
	if d.Allowed() {
		return d
	}
	would := d.Reason()
	if d.Status != nil {
		would = d.Status.Message
	}
	annotations := map[string]string{wouldRefuse: would}
	maps.Copy(annotations, d.Annotations)
	return rules.Decision{
		Effect:   rules.Allow,
		Findings: append(d.Findings, rules.Finding{Rule: d.Rule, Message: d.Message}),
		Warnings: d.Warnings, Annotations: annotations,
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// admitted is the decision on a write that no rule denies.
var admitted = rules.Decision{Effect: rules.Allow}

// forbid denies with status 403 and a message in the form of upstream. The ID of the rule is at
// the end of the message.
func forbid(a admission.Attributes, by rules.Rule, text string) rules.Decision {
	status := apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), errors.New(by.Reason(text))).ErrStatus
	return rules.Decision{Rule: by.ID, Message: text, Status: &status}
}

// citing appends another rule to a denial and keeps the rest. A 404 stays a 404, so that the
// client reacts as a kubelet would.
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

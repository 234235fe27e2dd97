// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// forbid refuses with 403, in the form of upstream: the resource, its name, the
// text, and then the rule.
func (q *request) forbid(r *rule, text string) *refusal {
	resource, name := q.GetResource().GroupResource(), q.GetName()
	if resource.Resource == "" || name == "" || text == "" {
		return forbidUnnamed(q.Attributes, r, text)
	}
	return forbidNamed(resource, name, r, text)
}

// codeForbidden is that of RFC 9110, section 15.5.4.
const codeForbidden = 403

// forbiddenNamed is a refusal with all that belongs to it, in one piece of memory.
type forbiddenNamed struct {
	refusal
	status  apierrors.StatusError
	details metav1.StatusDetails
}

// forbidNamed is apierrors.NewForbidden, without the allocations of printing: a node
// that is refused tries again.
func forbidNamed(resource schema.GroupResource, name string, r *rule, text string) *refusal {
	f := &forbiddenNamed{details: metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: name}}
	f.status.ErrStatus = metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    codeForbidden,
		Reason:  metav1.StatusReasonForbidden,
		Details: &f.details,
		Message: forbiddenMessage(resource, name, text, r.end),
	}
	f.refusal = refusal{rule: r, status: &f.status}
	return &f.refusal
}

func forbiddenMessage(resource schema.GroupResource, name, text, end string) string {
	dot := ""
	if resource.Group != "" {
		dot = "."
	}
	var quoted [128]byte
	return resource.Resource + dot + resource.Group + " " + string(strconv.AppendQuote(quoted[:0], name)) + " is forbidden: " + text + end
}

// forbidUnnamed leaves to the library what is rare: that there is a name in the object
// only, or none.
func forbidUnnamed(a admission.Attributes, r *rule, text string) *refusal {
	var status *apierrors.StatusError
	reason := errors.New(r.Reason(text))
	if !errors.As(admission.NewForbidden(withoutNils{a}, reason), &status) {
		status = apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), reason)
	}
	return &refusal{rule: r, status: status}
}

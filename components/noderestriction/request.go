// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// request is one write of a node, with what the rules have found about it so far.
type request struct {
	admission.Attributes
	// node is the name of the node that writes.
	node string
	// exempted says which of the [Exemptable] rules do not bind who writes; nil if all do.
	exempted func(rules.ID) bool
	// configuration is the operator's policy, nil if there is none.
	configuration *configuration.Configuration
	// findings, warnings and annotations are those of the decision.
	findings    []rules.Finding
	warnings    []string
	annotations map[string]string
}

// decision is what the caller is told: nil denies nothing.
func (q *request) decision(denied *rules.Decision) rules.Decision {
	d := rules.Decision{Effect: rules.Allow}
	if denied != nil {
		d = *denied
	}
	d.Findings, d.Warnings, d.Annotations = q.findings, q.warnings, q.annotations
	return d
}

// forbid denies with 403, in the form of upstream: the resource, its name, the text, and
// then the rule.
func (q *request) forbid(r rules.Rule, text string) *rules.Decision {
	d := &rules.Decision{Rule: r.ID, Message: text}
	var forbidden *apierrors.StatusError
	if errors.As(admission.NewForbidden(withoutNils{q.Attributes}, errors.New(r.Reason(text))), &forbidden) {
		d.Status = &forbidden.ErrStatus
	}
	return d
}

// raw denies with the status of an error that is one of the API's: a 404 stays a
// 404. Any other error becomes a 500 with its text, which a kubelet tries again.
func (q *request) raw(r rules.Rule, err error) *rules.Decision {
	var status metav1.Status
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	} else {
		status = apierrors.NewInternalError(err).ErrStatus
		// Not "Internal error occurred: " before a text that says what happened.
		status.Message = err.Error()
	}
	text := status.Message
	status.Message = r.Reason(text)
	return &rules.Decision{Rule: r.ID, Message: text, Status: &status}
}

// audit reports a rule that would have denied.
func (q *request) audit(denied *rules.Decision) {
	q.findings = append(q.findings, rules.Finding{Rule: denied.Rule, Message: denied.Message})
}

// annotate puts keys in the audit event, after those that are there. The name is
// without a prefix.
func (q *request) annotate(name string, keys []string) {
	value := someOf(keys)
	if q.annotations == nil {
		q.annotations = map[string]string{}
	}
	if before := q.annotations[name]; before != "" {
		value = before + ", " + value
	}
	q.annotations[name] = value
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// request is one write of a node, with what the rules have found about it so far.
type request struct {
	admission.Attributes
	// node is the name of the node that writes.
	node string
	// lifted says which of the [Liftable] rules do not bind who writes; nil if all do.
	lifted func(rules.ID) bool
	// configuration is the operator's policy, nil if there is none.
	configuration *configuration.Configuration
	// found is nil as long as there is nothing to tell.
	found *Findings
}

// findings is where a rule puts what refuses nothing.
func (q *request) findings() *Findings {
	if q.found == nil {
		q.found = &Findings{}
	}
	return q.found
}

// raw refuses with the status of an error that is one of the API's: a 404 stays a
// 404. Any other error becomes a 500 with its text, which a kubelet tries again.
func (q *request) raw(r *rule, err error) *refusal {
	status, ok := asStatus(err)
	if !ok {
		return &refusal{rule: r, status: internalError(r.Reason(err.Error()))}
	}
	answer := status.Status()
	answer.Message = r.Reason(answer.Message)
	return &refusal{rule: r, status: &apierrors.StatusError{ErrStatus: answer}}
}

// internalError is apierrors.NewInternalError without "Internal error occurred: " before
// a text that says what happened.
func internalError(text string) *apierrors.StatusError {
	status := apierrors.NewInternalError(errors.New(text))
	status.ErrStatus.Message = text
	return status
}

// audit reports a rule that would have refused.
func (q *request) audit(r *rule) {
	found := q.findings()
	found.Audited = append(found.Audited, r.ID)
}

// warn has the caller, and whoever reads its log, warned.
func (q *request) warn(text string) {
	found := q.findings()
	found.Warnings = append(found.Warnings, text)
}

// annotate puts keys in the audit event, after those that are there. The name is
// without a prefix.
func (q *request) annotate(name string, keys []string) {
	found, value := q.findings(), someOf(keys)
	if found.Annotations == nil {
		found.Annotations = map[string]string{}
	}
	if before := found.Annotations[name]; before != "" {
		value = before + ", " + value
	}
	found.Annotations[name] = value
}

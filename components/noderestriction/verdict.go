// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// rule is one that this package decides by.
type rule struct {
	rules.Rule
	// end is what comes after the text of a refusal, made once.
	end string
	// place is that of the rule in [Rules]; -1 as long as it is in none, so that a rule
	// that somebody forgets there cannot pass for one that is off.
	place int
}

func promise(r rules.Rule) *rule { return &rule{Rule: r, end: " " + r.Reason(""), place: -1} }

// refusal is why a write is not admitted.
type refusal struct {
	rule   *rule
	status *apierrors.StatusError
}

// Verdict is the answer to one write. The zero value admits.
type Verdict struct {
	// Rule is the one that refused; empty if the write is admitted.
	Rule rules.ID
	// Refusal is what the caller is told, with the code, the reason and the text of
	// upstream's plugin, and the ID of the rule at the end of the message. It is nil
	// if the write is admitted.
	Refusal *apierrors.StatusError
	// Told is what [Verdict.Findings] returns; nil, as for nearly every write, if there
	// is nothing.
	Told *Findings
}

// Findings are what there is to tell besides whether a write is admitted.
type Findings struct {
	// Audited are the rules in audit that would have refused.
	Audited []rules.ID
	// Warnings are for the caller.
	Warnings []string
	// Annotations are for the API server's audit event.
	Annotations map[string]string
}

// Findings are the zero value if there is nothing to tell.
func (v Verdict) Findings() Findings {
	if v.Told == nil {
		return Findings{}
	}
	return *v.Told
}

// Admitted is true if the write may pass.
func (v Verdict) Admitted() bool { return v.Refusal == nil }

func asStatus(err error) (apierrors.APIStatus, bool) {
	var status apierrors.APIStatus
	ok := errors.As(err, &status)
	return status, ok
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Answer is the API server's answer to the client. The zero value means that the write is admitted.
type Answer struct {
	Code    int32
	Reason  metav1.StatusReason
	Message string
	// Rule is the rule that Bulkhead names.
	Rule rules.ID
}

// Admitted reports whether the write is admitted.
func (a Answer) Admitted() bool { return a.Code == 0 }

func (a Answer) String() string {
	if a.Admitted() {
		return "admitted"
	}
	return fmt.Sprintf("%d %s %q", a.Code, a.Reason, a.Message)
}

// answerOf converts an admission plugin's error as the API server does. Source:
// k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/status.go ErrorToAPIStatus, which does
// not unwrap errors.
func answerOf(err error) Answer {
	if err == nil {
		return Answer{}
	}
	if known, ok := err.(apierrors.APIStatus); ok {
		status := known.Status()
		return Answer{Code: status.Code, Reason: status.Reason, Message: status.Message}
	}
	return Answer{Code: 500, Reason: metav1.StatusReasonUnknown, Message: err.Error()}
}

// WithoutRule returns the answer as upstream could give it.
func (a Answer) WithoutRule() Answer {
	return Answer{Code: a.Code, Reason: a.Reason, Message: strings.TrimSuffix(a.Message, " ["+string(a.Rule)+"]")}
}

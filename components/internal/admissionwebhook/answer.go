// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Answer is what a reviewer says about one write. The zero value admits.
type Answer struct {
	// Rule is the one that refused; empty if the write is admitted.
	Rule rules.ID
	// Refusal is what the caller is told. It is nil if the write is admitted.
	Refusal *apierrors.StatusError
	// Audited are the rules in audit that would have refused.
	Audited []rules.ID
	// Warnings are for the caller.
	Warnings []string
	// Annotations are for the API server's audit event. Keys have no prefix: the API
	// server puts the webhook's name before them.
	Annotations map[string]string
}

const (
	// maxWarnings and maxWarning bound what the caller is warned of. The API server
	// cuts a warning after 256 characters, and all of them after 4096.
	maxWarnings = 10
	maxWarning  = 250
	// maxAnnotations bounds the reviewer's words in an audit event.
	maxAnnotations = 16
	// ruleKey and auditedKey are the annotations that are made here.
	ruleKey    = "rule"
	auditedKey = "audited-rules"
)

func (a Answer) allowed() bool { return a.Refusal == nil }

// decision is the word for an answer in logs and metrics.
func (a Answer) decision() string {
	if a.allowed() {
		return "allow"
	}
	return "deny"
}

// internalError refuses what made the reviewer panic. A kubelet tries again.
func internalError() Answer {
	return Answer{Refusal: refusal(http.StatusInternalServerError, metav1.StatusReasonInternalError, "internal error")}
}

// limited refuses what is over a bound. What may be within it later has a code that
// says so.
func limited(rule rules.Rule, by webhook.Excess) Answer {
	if by == webhook.TooLarge {
		text := fmt.Sprintf("a review of more than %d bytes", maxBody)
		return Answer{Rule: rule.ID, Refusal: refusal(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, rule.Reason(text))}
	}
	return Answer{Rule: rule.ID, Refusal: refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, rule.Reason(by.Text()))}
}

func refusal(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

// response is the part of an AdmissionResponse that we set.
type response struct {
	UID              types.UID         `json:"uid"`
	Allowed          bool              `json:"allowed"`
	Status           *metav1.Status    `json:"status,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
}

type answered struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   response `json:"response"`
}

func responseTo(uid types.UID, a Answer) response {
	return response{
		UID:              uid,
		Allowed:          a.allowed(),
		Status:           statusOf(a.Refusal),
		Warnings:         warningsOf(a.Warnings),
		AuditAnnotations: annotationsOf(a),
	}
}

// statusOf is a refusal as it is shown: always a failure, with a code and a message
// that are fit for one. Of the details it keeps what was written, not when to try
// again.
func statusOf(refused *apierrors.StatusError) *metav1.Status {
	if refused == nil {
		return nil
	}
	from := refused.ErrStatus
	status := &metav1.Status{Status: metav1.StatusFailure, Code: from.Code, Reason: from.Reason, Message: webhook.Presentable(from.Message)}
	if status.Code < http.StatusBadRequest || status.Code > 599 {
		status.Code, status.Reason = http.StatusForbidden, metav1.StatusReasonForbidden
	}
	if d := from.Details; d != nil {
		status.Details = &metav1.StatusDetails{Name: webhook.Loggable(d.Name), Group: webhook.Loggable(d.Group), Kind: webhook.Loggable(d.Kind)}
	}
	return status
}

func warningsOf(from []string) []string {
	var warnings []string
	for _, text := range from[:min(len(from), maxWarnings)] {
		if text != "" {
			warnings = append(warnings, webhook.Printable(text, maxWarning))
		}
	}
	return warnings
}

// annotationsOf leaves out what the API server would not take.
func annotationsOf(a Answer) map[string]string {
	if a.Rule == "" && len(a.Audited) == 0 && len(a.Annotations) == 0 {
		return nil
	}
	annotations := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(a.Annotations)) {
		if len(annotations) < maxAnnotations && isPlain(key) {
			annotations[key] = webhook.Presentable(a.Annotations[key])
		}
	}
	if a.Rule != "" {
		annotations[ruleKey] = string(a.Rule)
	}
	if len(a.Audited) > 0 {
		annotations[auditedKey] = webhook.Presentable(listOf(a.Audited))
	}
	return annotations
}

// isPlain is true for the part of an annotation's key behind the slash.
func isPlain(key string) bool {
	return !strings.Contains(key, "/") && len(validation.IsQualifiedName(key)) == 0
}

func listOf(ids []rules.ID) string {
	var list strings.Builder
	for i, id := range ids {
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteString(string(id))
	}
	return list.String()
}

func write(w http.ResponseWriter, r response) {
	body, err := json.Marshal(answered{APIVersion: apiVersion, Kind: kind, Response: r})
	if err != nil {
		// Strings, numbers and booleans always have a form in JSON.
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	// A failed write means that nobody is left to be told.
	_, _ = w.Write(body)
}

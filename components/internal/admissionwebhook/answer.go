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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

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

// effectOf is the word for a decision in logs and metrics: there is no third effect.
func effectOf(d rules.Decision) string {
	if d.Allowed() {
		return rules.Allow.String()
	}
	return rules.Deny.String()
}

// internalError denies what made the reviewer fail. A kubelet tries again.
func internalError() rules.Decision {
	return denial("", http.StatusInternalServerError, metav1.StatusReasonInternalError, "internal error")
}

// limited denies what is over a bound. What may be within it later has a code that
// says so.
func limited(rule rules.Rule, by webhook.Excess) rules.Decision {
	if by == webhook.TooLarge {
		return denial(rule.ID, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			fmt.Sprintf("a review of more than %d bytes", maxBody))
	}
	return denial(rule.ID, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, by.Text())
}

func denial(rule rules.ID, code int32, reason metav1.StatusReason, text string) rules.Decision {
	d := rules.Decision{Rule: rule, Message: text}
	d.Status = &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: d.Reason()}
	return d
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

func responseTo(uid types.UID, d rules.Decision) response {
	return response{
		UID:              uid,
		Allowed:          d.Allowed(),
		Status:           statusOf(d),
		Warnings:         warningsOf(d.Warnings),
		AuditAnnotations: annotationsOf(d),
	}
}

// statusOf is a denial as it is shown: always a failure, with a code and a message
// that are fit for one. Of the details it keeps what was written, not when to try
// again.
func statusOf(d rules.Decision) *metav1.Status {
	if d.Allowed() {
		return nil
	}
	from := metav1.Status{Message: d.Reason()}
	if d.Status != nil {
		from = *d.Status
	}
	status := &metav1.Status{Status: metav1.StatusFailure, Code: from.Code, Reason: from.Reason,
		Message: webhook.Presentable(from.Message)}
	if status.Code < http.StatusBadRequest || status.Code > 599 {
		status.Code, status.Reason = http.StatusForbidden, metav1.StatusReasonForbidden
	}
	if of := from.Details; of != nil {
		status.Details = &metav1.StatusDetails{Name: webhook.Loggable(of.Name), Group: webhook.Loggable(of.Group),
			Kind: webhook.Loggable(of.Kind)}
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
func annotationsOf(d rules.Decision) map[string]string {
	if d.Rule == "" && len(d.Findings) == 0 && len(d.Annotations) == 0 {
		return nil
	}
	annotations := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(d.Annotations)) {
		if len(annotations) < maxAnnotations && isPlain(key) {
			annotations[key] = webhook.Presentable(d.Annotations[key])
		}
	}
	if d.Rule != "" {
		annotations[ruleKey] = string(d.Rule)
	}
	if len(d.Findings) > 0 {
		annotations[auditedKey] = webhook.Presentable(listOf(d.Audited()))
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

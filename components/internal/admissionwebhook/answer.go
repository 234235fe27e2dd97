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
	// maxWarnings and maxWarning bound the warnings in an answer. The API server cuts one warning
	// after 256 characters, and all warnings together after 4096 characters.
	maxWarnings = 10
	maxWarning  = 250
	// maxAnnotations bounds the audit annotations that the reviewer sets.
	maxAnnotations = 16
	// ruleKey and auditedKey are the audit annotations that this package sets itself.
	ruleKey    = "rule"
	auditedKey = "audited-rules"
)

// effectOf returns the effect of a decision for logs and metrics. A webhook knows only Allow and
// Deny.
func effectOf(d rules.Decision) string {
	if d.Allowed() {
		return rules.Allow.String()
	}
	return rules.Deny.String()
}

// internalError denies a request on which the reviewer failed. The kubelet retries after a 500.
func internalError() rules.Decision {
	return denial("", http.StatusInternalServerError, metav1.StatusReasonInternalError, "internal error")
}

// limited denies a request that exceeds a limit. A request that may succeed later gets a 429.
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

// response is the part of an AdmissionResponse that Bulkhead sets.
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

// statusOf returns the Status of a denial. The status is always Failure, and the code is between
// 400 and 599. Of the details it keeps the name, group and kind of the object, but not
// retryAfterSeconds.
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

// annotationsOf leaves out annotations that the API server would reject.
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

// isPlain reports whether key is valid as the part of an annotation key after the slash.
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
	// A write fails only if the caller has closed the connection.
	_, _ = w.Write(body)
}

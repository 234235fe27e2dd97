// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
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
	// ruleKey, auditedKey and findingsKey are the audit annotations that this package sets itself.
	ruleKey     = "rule"
	auditedKey  = "audited-rules"
	findingsKey = auditfindings.AnnotationName
)

// statuses are the statuses of denials that have a code but no status.
var statuses = map[int]metav1.Status{
	http.StatusBadRequest: {Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest},
	http.StatusRequestEntityTooLarge: {Code: http.StatusRequestEntityTooLarge,
		Reason: metav1.StatusReasonRequestEntityTooLarge},
	http.StatusTooManyRequests:     {Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests},
	http.StatusInternalServerError: {Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError},
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
	from := statuses[d.Code]
	from.Message = d.Reason()
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
		if text := findingsText(d.Findings); text != "" {
			annotations[findingsKey] = webhook.Presentable(text)
		}
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

// findingsText is the text of the findings that have a message.
func findingsText(findings []rules.Finding) string {
	var parts []string
	for _, f := range findings {
		if f.Message != "" {
			parts = append(parts, rules.Rule{ID: f.Rule}.Reason(f.Message))
		}
	}
	return strings.Join(parts, auditfindings.Separator)
}

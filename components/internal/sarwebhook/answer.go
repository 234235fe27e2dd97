// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"encoding/json"
	"net/http"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// status is the part of a SubjectAccessReviewStatus that a webhook sets. At most one of Allowed and
// Denied is true. If neither is true, the next authorizer decides.
type status struct {
	Allowed         bool   `json:"allowed"`
	Denied          bool   `json:"denied,omitempty"`
	Reason          string `json:"reason,omitempty"`
	EvaluationError string `json:"evaluationError,omitempty"`
}

// statusOf converts a decision to the form that kube-apiserver reads. fault is the error that the
// policy failed with, or nil.
func statusOf(d rules.Decision, fault error) status {
	s := status{Allowed: d.Effect == rules.Allow, Denied: d.Effect != rules.Allow && d.Effect != rules.NoOpinion,
		Reason: webhook.Presentable(d.Reason())}
	if fault != nil {
		s.EvaluationError = webhook.Presentable(fault.Error())
	}
	return s
}

func write(w http.ResponseWriter, s status) {
	body, err := json.Marshal(answer{APIVersion: apiVersion, Kind: kind, Status: s})
	if err != nil {
		// A struct of strings and bools always has a JSON form.
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	// A write fails only if the caller has closed the connection.
	_, _ = w.Write(body)
}

// answer is the part of a SubjectAccessReview that kube-apiserver reads.
type answer struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Status     status `json:"status"`
}

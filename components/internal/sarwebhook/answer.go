// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// status is the part of a SubjectAccessReviewStatus that we set. At most one of
// Allowed and Denied is true; with neither, the authorizers behind decide.
type status struct {
	Allowed, Denied         bool
	Reason, EvaluationError string
}

// statusOf is a decision as kube-apiserver reads it. The fault is what made the policy
// fail; nil if nothing did.
func statusOf(d rules.Decision, fault error) status {
	s := status{Allowed: d.Effect == rules.Allow, Denied: d.Effect != rules.Allow && d.Effect != rules.NoOpinion,
		Reason: webhook.Presentable(d.Reason())}
	if fault != nil {
		s.EvaluationError = webhook.Presentable(fault.Error())
	}
	return s
}

func write(w http.ResponseWriter, s status) {
	body := s.append(make([]byte, 0, len(answerStart)+len(s.Reason)+len(s.EvaluationError)+64))
	w.Header().Set("Content-Type", "application/json")
	// A failed write means that nobody is left to be told.
	_, _ = w.Write(body)
}

// answerStart is what every answer begins with.
const answerStart = `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","status":{"allowed":`

// append appends the answer as JSON.
func (s status) append(out []byte) []byte {
	out = strconv.AppendBool(append(out, answerStart...), s.Allowed)
	if s.Denied {
		out = append(out, `,"denied":true`...)
	}
	out = appendField(out, `,"reason":`, s.Reason)
	out = appendField(out, `,"evaluationError":`, s.EvaluationError)
	return append(out, "}}"...)
}

func appendField(out []byte, name, value string) []byte {
	if value == "" {
		return out
	}
	return appendText(append(out, name...), value)
}

// appendText leaves to the library what does not stand for itself.
func appendText(out []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			quoted, err := json.Marshal(text)
			if err != nil {
				// Strings always have a form in JSON.
				panic(err)
			}
			return append(out, quoted...)
		}
	}
	return append(append(append(out, '"'), text...), '"')
}

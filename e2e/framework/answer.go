// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Answer is the result of a request, and the decision of the authorizers in a review of the same
// request.
type Answer struct {
	User    string
	Request Request
	// Code and Message are from the API server. Both are empty for a check that no HTTP request can
	// express.
	Code    int
	Message string
	// Body is the start of the body, if [Cluster.Fetch] made the request and it succeeded.
	Body []byte
	// Allowed, Reason and ReviewError are from a SubjectAccessReview. ReviewError is set if an authorizer
	// failed. The next authorizer may have decided.
	Allowed     bool
	Reason      string
	ReviewError string
}

// DeniedByBulkhead reports whether the answer, or the review, is a denial that names a Bulkhead
// rule. A denial after a lookup without an answer in time does not count.
func (a Answer) DeniedByBulkhead() bool {
	byRule := func(text string) bool {
		return (strings.Contains(text, "[NA-") || strings.Contains(text, "[NS-")) && !Unanswered(text)
	}
	return a.Code == http.StatusForbidden && byRule(a.Message) || !a.Allowed && byRule(a.Reason)
}

// Do makes the request once as who, and then requests a review of it. It records the user for the
// evidence of a failure, so only specs may call it.
func (c *Cluster) Do(ctx context.Context, who *Identity, r Request) (Answer, error) {
	recordUser(who)
	return c.Try(ctx, who, r)
}

// Try is [Cluster.Do] without the record. Goroutines that outlive a spec may call it.
func (c *Cluster) Try(ctx context.Context, who *Identity, r Request) (Answer, error) {
	answer := Answer{User: who.User, Request: r}
	if !r.reviewOnly {
		var err error
		if answer.Code, answer.Message, err = who.Send(ctx, r); err != nil {
			return answer, err
		}
	}
	return c.reviewed(ctx, who, answer)
}

// reviewed adds the authorizers' decision about the request of the answer.
func (c *Cluster) reviewed(ctx context.Context, who *Identity, answer Answer) (Answer, error) {
	status, err := c.Review(ctx, who, answer.Request)
	answer.Allowed, answer.Reason, answer.ReviewError = status.Allowed, status.Reason, status.EvaluationError
	return answer, err
}

// Fetch makes the request once as who and requests no review. It reads the body of the answer.
func (c *Cluster) Fetch(ctx context.Context, who *Identity, r Request) (Answer, error) {
	recordUser(who)
	answer := Answer{User: who.User, Request: r}
	code, body, err := who.fetch(ctx, r, r.Verb != "watch")
	answer.Code = code
	if code < http.StatusBadRequest {
		answer.Body = body
	} else {
		answer.Message = messageIn(body)
	}
	return answer, err
}

// Send makes the request and returns the status code. If the request did not succeed, it also
// returns the message. It closes a watch that succeeds.
func (i *Identity) Send(ctx context.Context, r Request) (code int, message string, err error) {
	code, body, err := i.fetch(ctx, r, false)
	return code, messageIn(body), err
}

// fetch reads the body of a success only if it is told to.
func (i *Identity) fetch(ctx context.Context, r Request, all bool) (code int, body []byte, err error) {
	client, host, err := i.HTTP()
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := r.asHTTP(ctx, host)
	if err != nil {
		return 0, nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("%s as %s: %w", r, i.User, err)
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	if response.StatusCode < http.StatusBadRequest && !all {
		return response.StatusCode, nil, nil
	}
	const limit = 1 << 20
	body, err = io.ReadAll(io.LimitReader(response.Body, limit))
	if err != nil {
		body = fmt.Appendf(body, " (reading the rest: %v)", err)
	}
	return response.StatusCode, body, nil
}

func (r Request) asHTTP(ctx context.Context, host string) (*http.Request, error) {
	var body io.Reader = http.NoBody
	if r.Body != nil {
		data, err := json.Marshal(r.Body)
		if err != nil {
			return nil, fmt.Errorf("encoding the body of %s: %w", r, err)
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, r.method(), host+r.url(), body)
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", r, err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	if r.Verb == "patch" {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if r.auditID != "" {
		request.Header.Set(auditv1.HeaderAuditID, string(r.auditID))
	}
	return request, nil
}

// messageIn returns the message of a Status. It returns any other body unchanged.
func messageIn(body []byte) string {
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		return status.Message
	}
	return string(body)
}

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
)

// Answer is what became of a request, and what the authorizers say to the same
// request when they are asked.
type Answer struct {
	User    string
	Request Request
	// Code and Message are the API server's. Both are empty for a question that
	// no request can put.
	Code    int
	Message string
	// Allowed and Reason are a SubjectAccessReview's.
	Allowed bool
	Reason  string
}

// RefusedByUs reports whether the answer, or the review, is a refusal that names a
// rule.
func (a Answer) RefusedByUs() bool {
	byRule := func(text string) bool { return strings.Contains(text, "[NA-") || strings.Contains(text, "[NS-") }
	return a.Code == http.StatusForbidden && byRule(a.Message) || !a.Allowed && byRule(a.Reason)
}

// Do makes the request as who, once, and asks for a review of it. It notes the
// user for the evidence of a failure, so it may be called from specs only.
func (c *Cluster) Do(ctx context.Context, who *Identity, r Request) (Answer, error) {
	recordUser(who)
	return c.Try(ctx, who, r)
}

// Try is Do for goroutines that outlive a spec.
func (c *Cluster) Try(ctx context.Context, who *Identity, r Request) (Answer, error) {
	answer := Answer{User: who.User, Request: r}
	if !r.onlyAsked {
		var err error
		if answer.Code, answer.Message, err = who.Send(ctx, r); err != nil {
			return answer, err
		}
	}
	status, err := c.Review(ctx, who, r)
	answer.Allowed, answer.Reason = status.Allowed, status.Reason
	return answer, err
}

// Send makes the request and returns the status code, and the message if the
// request did not succeed. A watch that succeeds is closed.
func (i *Identity) Send(ctx context.Context, r Request) (code int, message string, err error) {
	client, host, err := i.HTTP()
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, oneRequest)
	defer cancel()
	request, err := r.asHTTP(ctx, host)
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("%s as %s: %w", r, i.User, err)
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	if response.StatusCode < http.StatusBadRequest {
		return response.StatusCode, "", nil
	}
	return response.StatusCode, readMessage(response.Body), nil
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
	return request, nil
}

// readMessage takes the message out of a Status; anything else is shown as it is.
func readMessage(body io.Reader) string {
	const enough = 64 << 10
	data, err := io.ReadAll(io.LimitReader(body, enough))
	if err != nil {
		return fmt.Sprintf("%s (reading the rest: %v)", data, err)
	}
	var status metav1.Status
	if json.Unmarshal(data, &status) == nil && status.Message != "" {
		return status.Message
	}
	return string(data)
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// tries bounds how often an undecided attempt is made.
	tries = 4
	// longestWait bounds the wait for a Retry-After.
	longestWait = 2 * time.Second
	// maxBody is the number of bytes that are read of an answer for the report.
	maxBody = 4 << 10
)

// sender makes attempts.
type sender struct {
	admin reader
	// ports are the kubelets' ports, by node.
	ports map[string]*Port
}

// try makes the attempt with the credential. It retries an undecided attempt, and an update whose
// object has changed in between.
func (s sender) try(ctx context.Context, who *credential, a attempt) answer {
	var got answer
	for n := 1; ; n++ {
		var wait time.Duration
		got, wait = s.once(ctx, who, a)
		conflict := got.Code == http.StatusConflict && a.Fresh != ""
		if n == tries || ctx.Err() != nil || got.Verdict != undecided && !conflict {
			return got
		}
		if conflict {
			a.Body = s.refreshed(ctx, a)
			continue
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// once makes the attempt once. It returns how long to wait before the next try.
func (s sender) once(ctx context.Context, who *credential, a attempt) (answer, time.Duration) {
	got := answer{Credential: who, attempt: a}
	var (
		header http.Header
		err    error
	)
	if a.Route == byPort {
		got.Code, got.Message, header, err = s.toPort(ctx, who, a)
	} else {
		got.Code, got.Message, header, err = toServer(ctx, who, a)
	}
	if err != nil {
		got.Code, got.Message = 0, err.Error()
	}
	got.Verdict = judge(a, got.Code, got.Message)
	wait := 200 * time.Millisecond
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); err == nil {
		wait = min(time.Duration(seconds)*time.Second, longestWait)
	}
	return got, wait
}

// toServer sends the attempt to the API server. It closes a watch at the first byte. It does not
// read the body of a success, which may be a secret.
func toServer(ctx context.Context, who *credential, a attempt) (code int, message string, header http.Header,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, a.Method, who.host+a.url(), bytes.NewReader(a.Body))
	if err != nil {
		return 0, "", nil, fmt.Errorf("making %s: %w", a, err)
	}
	request.Header = a.Header.Clone()
	request.Header.Set("Accept", plainJSON+", */*")
	response, err := who.client.Do(request)
	if err != nil {
		return 0, "", nil, err
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusBadRequest {
		return response.StatusCode, "", response.Header, nil
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return response.StatusCode, messageOf(text), response.Header, err
}

// messageOf returns the message of a Status, or the text itself.
func messageOf(text []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(text, &status) == nil && status.Message != "" {
		return status.Message
	}
	return string(text)
}

// toPort sends the attempt to a kubelet on a new connection.
func (s sender) toPort(ctx context.Context, who *credential, a attempt) (code int, message string, header http.Header,
	err error) {
	call := Calling(a.Method, a.url())
	if a.Method != http.MethodGet {
		call = call.Sending("")
	}
	reply, err := s.ports[a.Node].Send(ctx, who.caller, call)
	if err != nil {
		return 0, "", nil, err
	}
	if reply.Code < http.StatusBadRequest {
		return reply.Code, "", reply.Header, nil
	}
	return reply.Code, messageOf([]byte(reply.Body)), reply.Header, nil
}

// refreshed returns the body of an update for the current object.
func (s sender) refreshed(ctx context.Context, a attempt) []byte {
	now, err := s.admin.read(ctx, a.Fresh)
	if err != nil || now == nil {
		return a.Body
	}
	var before unstructured.Unstructured
	if json.Unmarshal(a.Body, &before.Object) == nil {
		now["apiVersion"], now["kind"] = before.Object["apiVersion"], before.Object["kind"]
	}
	body, err := json.Marshal(now)
	if err != nil {
		return a.Body
	}
	return body
}

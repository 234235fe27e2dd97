// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const (
	// maxText bounds, in bytes, a text of an event in the queue. The written text is shorter.
	maxText = 512
	// maxGroups bounds the groups of an event, and maxGroupBytes their size together.
	maxGroups     = 32
	maxGroupBytes = 4 << 10
)

// Stages of an event.
const (
	// stageRequest is the event of a request with its response.
	stageRequest = "request"
	// stageBegin is the event of a request that is about to be forwarded.
	stageBegin = "begin"
	// stageEnd is the event of a stream that has ended.
	stageEnd = "end"
)

// AuditEvent is the audit log's line about one request: user, rights, decision with its rule,
// and outcome. It has no token, no query and no body.
type AuditEvent struct {
	Time   time.Time `json:"time"`
	Stage  string    `json:"stage"`
	ID     uint64    `json:"id"`
	Source string    `json:"source"`

	User       string   `json:"user,omitempty"`
	Groups     []string `json:"groups,omitempty"`
	MoreGroups int      `json:"moreGroups,omitempty"`

	Node      string `json:"node"`
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`

	Method      string `json:"method"`
	Path        string `json:"path"`
	Verb        string `json:"verb,omitempty"`
	Subresource string `json:"subresource,omitempty"`

	Decision string `json:"decision"`
	Rule     string `json:"rule,omitempty"`
	// Findings are rules in audit mode that would have denied the request.
	Findings []string `json:"findings,omitempty"`
	Cause    string   `json:"cause,omitempty"`
	CacheHit bool     `json:"cacheHit"`

	Status int `json:"status,omitempty"`
	// Seconds is the time since the request arrived.
	Seconds float64 `json:"seconds"`
	// BytesIn is received from the client, BytesOut is sent to it. Both exclude headers.
	BytesIn  int64 `json:"bytesIn"`
	BytesOut int64 `json:"bytesOut"`
}

// texts returns the fields that a client can make long.
func (e *AuditEvent) texts() [7]*string {
	return [...]*string{&e.User, &e.Namespace, &e.Pod, &e.Container, &e.Method, &e.Path, &e.Cause}
}

// clone returns a copy for the queue, of at most about 8 KiB. It shares no memory with the request,
// because net/http's path keeps the whole request line in memory.
func (e *AuditEvent) clone() AuditEvent {
	copied := *e
	for _, text := range copied.texts() {
		*text = strings.Clone((*text)[:min(len(*text), maxText)])
	}
	copied.Groups = nil
	left := maxGroupBytes
	for _, group := range e.Groups {
		group = group[:min(len(group), maxText)]
		if left -= len(group); left < 0 || len(copied.Groups) == maxGroups {
			break
		}
		copied.Groups = append(copied.Groups, strings.Clone(group))
	}
	copied.MoreGroups = len(e.Groups) - len(copied.Groups)
	return copied
}

// sanitize makes the texts printable. It takes time, so the writer calls it, not the request.
func (e *AuditEvent) sanitize() {
	for _, text := range e.texts() {
		*text = webhook.Loggable(*text)
	}
	for i, group := range e.Groups {
		e.Groups[i] = webhook.Loggable(group)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const (
	// maxText bounds, in bytes, a text of a line while the line waits. Less of it is
	// written.
	maxText = 512
	// maxGroups bounds the groups in a line, and maxGroupBytes all of them together.
	maxGroups     = 32
	maxGroupBytes = 4 << 10
)

// Stages of a line.
const (
	// whole is a request with its answer.
	whole = "request"
	// begun is a stream that was let through.
	begun = "begin"
	// ended is that stream when it is over.
	ended = "end"
)

// Line is what is written about one request: who asked for what, what was decided
// by which rule, and what it came to. It holds no token, no query and no body.
type Line struct {
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
	// Findings are of rules that would have refused, were they enforced.
	Findings []string `json:"findings,omitempty"`
	Cause    string   `json:"cause,omitempty"`
	CacheHit bool     `json:"cacheHit"`

	Status int `json:"status,omitempty"`
	// Seconds is how long it took until now.
	Seconds float64 `json:"seconds"`
	// BytesIn came from the client, BytesOut went to it, without headers.
	BytesIn  int64 `json:"bytesIn"`
	BytesOut int64 `json:"bytesOut"`
}

// texts are what a caller could make long.
func (l *Line) texts() [7]*string {
	return [...]*string{&l.User, &l.Namespace, &l.Pod, &l.Container, &l.Method, &l.Path, &l.Cause}
}

// kept is a copy that may wait. It has at most about 8 KiB, and holds nothing of the
// request: what net/http gives of a path holds the whole request line.
func (l *Line) kept() Line {
	copied := *l
	for _, text := range copied.texts() {
		*text = strings.Clone((*text)[:min(len(*text), maxText)])
	}
	copied.Groups = nil
	room := maxGroupBytes
	for _, group := range l.Groups {
		group = group[:min(len(group), maxText)]
		if room -= len(group); room < 0 || len(copied.Groups) == maxGroups {
			break
		}
		copied.Groups = append(copied.Groups, strings.Clone(group))
	}
	copied.MoreGroups = len(l.Groups) - len(copied.Groups)
	return copied
}

// printable makes the line fit for a log. That takes time, so it is done beside the
// requests and not in their way.
func (l *Line) printable() {
	for _, text := range l.texts() {
		*text = webhook.Loggable(*text)
	}
	for i, group := range l.Groups {
		l.Groups[i] = webhook.Loggable(group)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// exchange is one request and its answer. To the reverse proxy it is the client.
type exchange struct {
	http.ResponseWriter
	handler *Handler
	// mapping is what is needed; audited, if it has attempts, what a rule in audit
	// would have needed.
	mapping, audited kubeletauth.Mapping
	user             user.Info
	rule             rules.ID
	line             Line
	// passed is set once the request was let through.
	passed bool
	// recorded is true if the audit log has a line of it from before it was let through.
	recorded bool
	// release gives back the place among the user's requests.
	release func()
	// stream is set if the exchange can last.
	stream *stream
	// joined is true once the stream goes on without the request's goroutine, which must
	// leave everything else alone then.
	joined bool
	// in and out count bytes, as the client sees them.
	in, out atomic.Int64
}

func (h *Handler) begin(w http.ResponseWriter, req *http.Request) *exchange {
	return &exchange{ResponseWriter: w, handler: h, line: Line{
		Time: time.Now(), Stage: whole, ID: h.ids.Add(1), Source: req.RemoteAddr,
		Node: h.config.NodeName, Method: req.Method, Path: req.URL.Path, Decision: allowed,
	}}
}

func (x *exchange) mapped(mapping, audited kubeletauth.Mapping) {
	x.mapping, x.audited, x.rule = mapping, audited, mapping.Rule
	x.line.Rule, x.line.Verb, x.line.Subresource = string(mapping.Rule), mapping.Attempts[0].Verb,
		mapping.Attempts[0].Subresource
	x.line.Namespace, x.line.Pod, x.line.Container = mapping.Target.Namespace, mapping.Target.Pod, mapping.Target.Container
}

func (x *exchange) identified(answer *authenticator.Response) {
	x.user = answer.User
	x.line.User, x.line.Groups = x.user.GetName(), x.user.GetGroups()
}

// found notes that a rule in audit would have refused.
func (x *exchange) found(rule rules.ID) {
	x.line.Findings = append(x.line.Findings, string(rule))
	x.handler.measures.audited.WithLabelValues(x.handler.measures.label(rule)).Inc()
}

func (x *exchange) refused(by *reply) {
	x.rule = by.Rule
	x.line.Rule, x.line.Decision, x.line.Cause = string(by.Rule), by.decision(), by.cause
	if x.line.Cause == "" {
		x.line.Cause = by.Reason()
	}
}

// finish gives everything back and has the last line written. It runs also when
// the answer had to be cut off, which the reverse proxy does by panicking.
func (x *exchange) finish() {
	if x.release != nil {
		x.release()
	}
	if x.stream != nil {
		x.stream.finish()
		defer x.stream.forget()
		x.line.Stage = ended
		if cause := x.stream.cause(); cause != "" {
			x.line.Cause = cause
		}
	}
	x.tell()
	x.handler.measures.carried(x.line.BytesIn, x.line.BytesOut)
}

// update has the line say how things are now.
func (x *exchange) update() {
	x.line.Seconds = time.Since(x.line.Time).Seconds()
	x.line.BytesIn, x.line.BytesOut = x.in.Load(), x.out.Load()
}

// tell has a line written as things are now.
func (x *exchange) tell() {
	x.update()
	x.handler.config.Audit.put(&x.line, x.passed)
}

// WriteHeader notes the status.
func (x *exchange) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		x.line.Status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write counts.
func (x *exchange) Write(data []byte) (int, error) {
	n, err := x.ResponseWriter.Write(data)
	x.out.Add(int64(n))
	if x.stream != nil {
		x.stream.touch()
	}
	return n, err
}

// Unwrap lets a [http.ResponseController] through.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

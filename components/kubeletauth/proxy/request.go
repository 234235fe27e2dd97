// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// requestContext is one request and its response. The reverse proxy writes to it.
type requestContext struct {
	http.ResponseWriter
	handler *Handler
	// mapping contains the required rights. audited contains the rights that a rule in audit mode
	// would require, or no attempts.
	mapping, audited kubeletauth.Mapping
	user             user.Info
	rule             rules.ID
	event            AuditEvent
	// allowed is set once the request may be forwarded.
	allowed bool
	// recorded is true if the audit log contains the event from before the request was forwarded.
	recorded bool
	// audits are the rules that would have denied the request so far (Config.AuditOnly). They become
	// findings if the request is allowed.
	audits []rules.ID
	// redirect is the address to which the proxy redirects the client, as the kubelet would, or "".
	redirect string
	// release frees the request's place among the user's requests.
	release func()
	// stream is not nil if the request can be long-lived.
	stream *stream
	// hijacked is true once the reverse proxy has taken over the client's connection.
	hijacked bool
	// in and out count bytes, as the client sees them.
	in, out atomic.Int64
}

func (h *Handler) newRequest(w http.ResponseWriter, req *http.Request) *requestContext {
	return &requestContext{ResponseWriter: w, handler: h, event: AuditEvent{
		Time: time.Now(), Stage: stageRequest, ID: h.ids.Add(1), Source: req.RemoteAddr,
		Node: h.config.NodeName, Method: req.Method, Path: req.URL.Path, Decision: allowed,
	}}
}

func (rc *requestContext) setMapping(mapping, audited kubeletauth.Mapping) {
	rc.mapping, rc.audited, rc.rule = mapping, audited, mapping.Rule
	rc.event.Rule, rc.event.Verb, rc.event.Subresource = string(mapping.Rule), mapping.Attempts[0].Verb,
		mapping.Attempts[0].Subresource
	rc.event.Namespace, rc.event.Pod, rc.event.Container = mapping.Target.Namespace, mapping.Target.Pod,
		mapping.Target.Container
}

func (rc *requestContext) setUser(answer *authenticator.Response) {
	rc.user = answer.User
	rc.event.User, rc.event.Groups = rc.user.GetName(), rc.user.GetGroups()
}

// denies reports whether a denial, which may be nil, is enforced. With [Config].AuditOnly it is not.
func (rc *requestContext) denies(refused *response) bool {
	if refused != nil && rc.handler.config.AuditOnly {
		rc.audits = append(rc.audits, refused.Rule)
		return false
	}
	return refused != nil
}

// addAudits adds a finding for each rule that would have denied the request.
func (rc *requestContext) addAudits() {
	for _, rule := range rc.audits {
		rc.addFinding(rule)
	}
}

// place takes a place for a client. With [Config].AuditOnly, a request over the limit needs no place.
func (rc *requestContext) place(ctx context.Context, limiter *webhook.Limiter, client, what string) (release func(),
	refused *response) {
	release, over := limiter.AdmitNode(ctx, client)
	if over == webhook.WithinLimits {
		return release, nil
	}
	refused = overLimit(what)
	// A kubelet has no metrics of components. And a client that no longer waits is not over a limit.
	if rc.mapping.Component != "" || ctx.Err() != nil || rc.denies(refused) {
		return nil, refused
	}
	return func() {}, nil
}

// addFinding records that a rule in audit mode would deny the request.
func (rc *requestContext) addFinding(rule rules.ID) {
	rc.event.Findings = append(rc.event.Findings, string(rule))
	rc.countFinding(rule)
}

func (rc *requestContext) countFinding(rule rules.ID) {
	rule = rules.ID(rc.handler.metrics.label(rule))
	rc.handler.metrics.audited.WithLabelValues(string(rule)).Inc()
	rc.handler.metrics.findings.Count(string(rule), webhook.Loggable(rc.event.User))
}

func (rc *requestContext) setDenial(by *response) {
	rc.rule = by.Rule
	rc.event.Rule, rc.event.Decision, rc.event.Cause = string(by.Rule), by.decision(), by.cause
	if rc.event.Cause == "" {
		rc.event.Cause = by.Reason()
	}
}

// finish frees all places and writes the last audit event. It also runs when the reverse
// proxy aborts a response, which it does by panicking.
func (rc *requestContext) finish() {
	if rc.release != nil {
		rc.release()
	}
	if rc.stream != nil {
		rc.stream.finish()
		defer rc.stream.forget()
		if rc.stream.wasAudited() {
			rc.event.Findings = append(rc.event.Findings, string(kubeletauth.RuleStream))
		}
		rc.event.Stage = stageEnd
		if cause := rc.stream.cause(); cause != "" {
			rc.event.Cause = cause
		}
	}
	rc.log()
	rc.handler.metrics.addBytes(rc.event.BytesIn, rc.event.BytesOut)
}

// update sets the duration and the bytes of the event.
func (rc *requestContext) update() {
	rc.event.Seconds = time.Since(rc.event.Time).Seconds()
	rc.event.BytesIn, rc.event.BytesOut = rc.in.Load(), rc.out.Load()
}

// log adds the event, with the current figures, to the audit log.
func (rc *requestContext) log() {
	rc.update()
	rc.handler.config.Audit.put(&rc.event, rc.allowed)
}

// WriteHeader records the status.
func (rc *requestContext) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		rc.event.Status = status
	}
	rc.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (rc *requestContext) Write(data []byte) (int, error) {
	n, err := rc.ResponseWriter.Write(data)
	rc.out.Add(int64(n))
	if rc.stream != nil {
		rc.stream.touch()
	}
	return n, err
}

// Unwrap makes the wrapped writer available to [http.ResponseController].
func (rc *requestContext) Unwrap() http.ResponseWriter { return rc.ResponseWriter }

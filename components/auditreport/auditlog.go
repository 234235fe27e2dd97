// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
	"github.com/bulkhead-k8s/bulkhead/components/internal/auditlog"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	// staleToken is set by k8s.io/kubernetes/pkg/serviceaccount/claims.go.
	staleToken = "authentication.k8s.io/stale-token"
	// policyFailure is set for a ValidatingAdmissionPolicy with the action Audit.
	policyFailure = "validation.policy.admission.k8s.io/validation_failure"
	proxyRule     = "KA-VAP-1"
	wouldRefuse   = "/" + auditfindings.AnnotationName
)

// AuditLog reads the API server's audit log. It also finds what no component has reported, so it
// works before anything is installed.
type AuditLog struct {
	report   *Report
	nodes    *nodeWrites
	rbac     *nodeauthorizer.Authorizer
	requests auditlog.Requests
	stats    AuditLogStats
}

// AuditLogStats are the numbers of events in a log.
type AuditLogStats struct {
	LineStats
	// Unreadable is the number of lines that are not audit events.
	Unreadable int64 `json:"unreadable,omitempty"`
	// NodeCreates are the requests of nodes to create their Node. NodeObjects are those of them with
	// the object: the audit level is Request or more.
	NodeCreates int64 `json:"nodeCreates"`
	NodeObjects int64 `json:"nodeObjects"`
	// Reported are the events in which node-restriction has reported findings.
	Reported int64 `json:"reported"`
	// MirrorPods are the mirror pods that were checked, without the rules about their namespace.
	MirrorPods int64 `json:"mirrorPods"`
	// First and Last are the times of the first and the last request that was parsed.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// NewAuditLog returns an AuditLog that adds to the report. policy is the configuration of
// node-restriction that will be enforced. It may be nil. strict is true if node-authorizer will deny
// what no rule allows.
func NewAuditLog(report *Report, policy *configuration.Configuration, strict bool) *AuditLog {
	l := &AuditLog{report: report, nodes: newNodeWrites(policy)}
	if strict {
		l.rbac = strictAuthorizer()
	}
	return l
}

// Stats returns the numbers of everything that was read.
func (l *AuditLog) Stats() AuditLogStats { return l.stats }

// Read reads one log. It returns an error if no line of a log that is not empty is an event.
func (l *AuditLog) Read(ctx context.Context, in io.Reader) error {
	events := 0
	stats, err := eachLine(in, auditlog.MaxLine, func(line []byte) bool {
		if ctx.Err() != nil || len(bytes.TrimSpace(line)) == 0 {
			return false
		}
		found, isEvent := l.line(ctx, line)
		if isEvent {
			events++
		} else {
			l.stats.Unreadable++
		}
		return found > 0
	})
	l.stats.Lines += stats.Lines
	l.stats.Findings += stats.Findings
	l.stats.TooLong += stats.TooLong
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case events == 0 && stats.Lines > 0:
		return fmt.Errorf("cannot read the audit log: %w", auditlog.ErrNoEvents)
	}
	return nil
}

// interesting are texts of which each event with a finding has one. Most events have none, and are
// not parsed.
var interesting = [][]byte{[]byte(wouldRefuse + `"`), []byte(staleToken), []byte(policyFailure),
	[]byte(`"` + nodeidentity.Prefix), []byte(`"subresource":"proxy"`)}

// line returns the number of findings in an event.
func (l *AuditLog) line(ctx context.Context, line []byte) (found int, isEvent bool) {
	if !slices.ContainsFunc(interesting, func(text []byte) bool { return bytes.Contains(line, text) }) {
		return 0, auditlog.IsEvent(line)
	}
	event, ok := auditlog.Parse(line)
	if !ok {
		return 0, false
	}
	if !l.requests.IsNew(event) {
		return 0, true
	}
	l.seen(event.RequestReceivedTimestamp.Time)
	findings := l.findings(ctx, event)
	for _, f := range findings {
		l.report.Add(f)
	}
	return len(findings), true
}

func (l *AuditLog) seen(at time.Time) {
	if at.IsZero() {
		return
	}
	if l.stats.First.IsZero() || at.Before(l.stats.First) {
		l.stats.First = at
	}
	if at.After(l.stats.Last) {
		l.stats.Last = at
	}
}

// findings returns nothing for a request that is denied today.
func (l *AuditLog) findings(ctx context.Context, event *auditv1.Event) []Finding {
	if auditlog.IsDenied(event) {
		return nil
	}
	if isReviewed(event) {
		l.stats.Reported++
	}
	base := findingOf(event)
	var findings []Finding
	if _, stale := event.Annotations[staleToken]; stale {
		f := base
		f.Rule, f.User, f.Reason = StaleToken, event.User.Username, event.Annotations[staleToken]
		findings = append(findings, f)
	}
	findings = append(findings, annotated(event, base)...)
	findings = append(findings, proxied(event, base)...)
	findings = append(findings, l.byRBAC(ctx, event, base)...)
	return append(findings, l.byObject(ctx, event, base)...)
}

// effectiveUser is the user that authorizers and admission see.
func effectiveUser(event *auditv1.Event) user.Info {
	u := event.User
	if event.ImpersonatedUser != nil {
		u = *event.ImpersonatedUser
	}
	return &user.DefaultInfo{Name: u.Username, UID: u.UID, Groups: u.Groups}
}

func findingOf(event *auditv1.Event) Finding {
	f := Finding{User: effectiveUser(event).GetName(), Verb: event.Verb}
	if ref := event.ObjectRef; ref != nil {
		f.Resource, f.Namespace, f.Name = resourceName(ref.APIGroup, ref.Resource, ref.Subresource), ref.Namespace, ref.Name
		return f
	}
	f.Name, _, _ = strings.Cut(event.RequestURI, "?")
	return f
}

// proxied returns a finding for a request to a kubelet through the API server. The policy KA-VAP-1
// in mode audit says whether it would deny. Without it, the finding is only possible.
func proxied(event *auditv1.Event, base Finding) []Finding {
	ref := event.ObjectRef
	if ref == nil || ref.Resource != "nodes" || ref.Subresource != "proxy" || ref.APIGroup != "" {
		return nil
	}
	base.Rule = proxyRule
	base.Reason, _, _ = strings.Cut(event.RequestURI, "?")
	if failure := event.Annotations[policyFailure]; strings.Contains(failure, `"kubelet-api.bulkhead.`) {
		base.Reason = failureMessage(failure)
		return []Finding{base}
	}
	if slices.Contains(effectiveUser(event).GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	base.Possible = true
	return []Finding{base}
}

// byRBAC returns a finding if RBAC allows a request of a node that node-authorizer will deny. With
// kubeadm, the in-tree Node authorizer comes before RBAC, so it has not allowed the request.
func (l *AuditLog) byRBAC(ctx context.Context, event *auditv1.Event, base Finding) []Finding {
	binding, ok := bindingIn(event.Annotations["authorization.k8s.io/reason"])
	if !ok || l.rbac == nil {
		return nil
	}
	a := auditlog.Attributes(event)
	a.User = effectiveUser(event)
	if _, isNode := nodeidentity.NodeName(a.User); !isNode {
		return nil
	}
	d := l.rbac.Decide(ctx, &a)
	if d.Effect != rules.Deny {
		return nil
	}
	base.Rule, base.Reason, base.Binding = d.Rule, d.Message, binding
	return []Finding{base}
}

// bindingIn returns the binding in the reason of the RBAC authorizer: `RBAC: allowed by
// ClusterRoleBinding "b" of ClusterRole "r" to Group "system:nodes"`.
func bindingIn(reason string) (string, bool) {
	text, ok := strings.CutPrefix(reason, "RBAC: allowed by ")
	if !ok {
		return "", false
	}
	if at := strings.LastIndex(text, ` to `); at >= 0 {
		text = text[:at]
	}
	return text, true
}

// strictAuthorizer knows no objects and no optional rule. So it denies a relationship that the
// in-tree authorizer has not found either.
func strictAuthorizer() *nodeauthorizer.Authorizer {
	return nodeauthorizer.New(nodeauthorizer.Config{
		Mode: nodeauthorizer.Strict, Features: nodeauthorizer.DefaultFeatures(), Modes: nodeauthorizer.Modes(rules.Off),
		Unready: func() string { return "" },
	})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"bytes"
	"errors"
	"net/url"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
	"github.com/bulkhead-k8s/bulkhead/components/internal/auditlog"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	authorizationReason   = "authorization.k8s.io/reason"
	authorizationDecision = "authorization.k8s.io/decision"
)

// IsEvent reports whether a text looks like JSON, as a line of an audit log does.
func IsEvent(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }

// ParseEvent reads one line of the API server's audit log.
func ParseEvent(line []byte) (Denial, error) {
	line = bytes.TrimSpace(line)
	if len(line) > auditlog.MaxLine {
		return Denial{}, errors.New("cannot read the event: it is longer than 8 MiB; give one line of the audit log")
	}
	event, ok := auditlog.Parse(line)
	if !ok {
		if bytes.ContainsRune(line, '\n') {
			return Denial{}, errors.New("cannot read the event: the text has several lines; give one line of the audit log")
		}
		return Denial{}, errors.New("cannot read the event: it is not an event of audit.k8s.io/v1 in JSON; give one whole " +
			"line of the file of kube-apiserver's --audit-log-path")
	}
	return denialOf(event)
}

func denialOf(event *auditv1.Event) (Denial, error) {
	request, err := requestOf(event)
	if err != nil {
		return Denial{}, err
	}
	decision := event.Annotations[authorizationDecision]
	d := Denial{Request: request, Reason: bounded(event.Annotations[authorizationReason]),
		Allowed: !auditlog.IsDenied(event), Authorized: decision == "allow"}
	if event.ResponseStatus != nil {
		d.Message = bounded(event.ResponseStatus.Message)
	}
	if decision == "" && event.Stage == auditv1.StageRequestReceived {
		return Denial{}, errors.New("cannot explain the event: it was written before the decision; give the event of the " +
			"stage ResponseComplete")
	}
	for _, f := range auditreport.FindingsOf(event) {
		d.Findings = append(d.Findings, rules.Finding{Rule: f.Rule, Message: f.Reason})
	}
	return d, nil
}

func bounded(text string) string { return text[:min(len(text), MaxMessage)] }

// requestOf returns the request of the user that the authorizers have seen.
func requestOf(event *auditv1.Event) (*Request, error) {
	who := event.User
	if event.ImpersonatedUser != nil {
		who = *event.ImpersonatedUser
	}
	r := &Request{Verb: event.Verb}
	if ref := event.ObjectRef; ref != nil {
		r.Group, r.Version, r.Resource, r.Subresource = ref.APIGroup, ref.APIVersion, ref.Resource, ref.Subresource
		r.Namespace, r.Name = ref.Namespace, ref.Name
		r.FieldSelector = fieldSelector(event.RequestURI)
	} else {
		r.Path, _, _ = strings.Cut(event.RequestURI, "?")
	}
	if r.Verb == "" || r.Resource == "" && r.Path == "" {
		return nil, errors.New("cannot explain the event: it has no verb, or no resource and no path; give one whole line " +
			"of the audit log")
	}
	if who.Username == "" {
		return nil, errors.New("cannot explain the event: it has no user; a request without valid credentials is denied " +
			"before any authorizer")
	}
	// The groups are those of the credential: none is added.
	r.User, r.Groups = who.Username, who.Groups
	for key, values := range who.Extra {
		if r.Extra == nil {
			r.Extra = map[string][]string{}
		}
		r.Extra[key] = values
	}
	return r, nil
}

func fieldSelector(uri string) string {
	address, err := url.ParseRequestURI(uri)
	if err != nil {
		return ""
	}
	return address.Query().Get("fieldSelector")
}

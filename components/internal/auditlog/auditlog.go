// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package auditlog reads events of the API server's audit log.
package auditlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const (
	// MaxLine is the maximum length of a line. A line with bodies contains an object twice.
	MaxLine = 8 << 20
	// maxOpen is the maximum number of long-running requests that are remembered.
	maxOpen = 100_000
	// decision is the annotation with the decision of the API server's authorizers.
	//
	// Source: k8s.io/apiserver/pkg/endpoints/filters/authorization.go.
	decision = "authorization.k8s.io/decision"
)

// ErrNoEvents is the error for a log without any event.
var ErrNoEvents = errors.New(
	"no line of it is an event of audit.k8s.io/v1 in JSON: give the file of kube-apiserver's --audit-log-path, with " +
		"--audit-log-format=json")

// IsEvent reports whether the line looks like an event. It does not parse the line.
func IsEvent(line []byte) bool { return bytes.Contains(line, []byte(`"audit.k8s.io/v1"`)) }

// Parse returns the event in a line. It returns false for another object.
func Parse(line []byte) (*auditv1.Event, bool) {
	event := &auditv1.Event{}
	err := json.Unmarshal(line, event)
	return event, err == nil && event.GroupVersionKind().Group == auditv1.GroupName
}

// Requests counts each request once. The zero value is ready to use. It is not safe for concurrent
// use.
type Requests struct{ open map[string]bool }

// IsNew is true once for each request. A long-running request has two events: one when the response
// starts and one when it ends.
func (r *Requests) IsNew(event *auditv1.Event) bool {
	id := string(event.AuditID)
	switch event.Stage {
	case auditv1.StageResponseStarted:
		if r.open == nil {
			r.open = map[string]bool{}
		}
		if len(r.open) < maxOpen {
			r.open[id] = true
		}
		return true
	case auditv1.StageResponseComplete, auditv1.StagePanic:
		begun := r.open[id]
		delete(r.open, id)
		return !begun
	case auditv1.StageRequestReceived:
	}
	return false
}

// IsDenied reports whether the API server denied the request.
func IsDenied(event *auditv1.Event) bool {
	if event.Annotations[decision] == "forbid" {
		return true
	}
	return event.ResponseStatus != nil && (event.ResponseStatus.Code == 401 || event.ResponseStatus.Code == 403)
}

// Attributes returns the request of the authenticated user as the API server's authorizers saw it.
//
// Source: k8s.io/apiserver/pkg/endpoints/filters/authorization.go GetAuthorizerAttributes.
func Attributes(event *auditv1.Event) authorizer.AttributesRecord {
	a := authorizer.AttributesRecord{User: userOf(event), Verb: event.Verb}
	address, err := url.ParseRequestURI(event.RequestURI)
	if err != nil {
		address = &url.URL{}
	}
	if event.ObjectRef == nil {
		a.Path = address.Path
		return a
	}
	ref := event.ObjectRef
	a.ResourceRequest = true
	a.APIGroup, a.APIVersion, a.Resource, a.Subresource = ref.APIGroup, ref.APIVersion, ref.Resource, ref.Subresource
	a.Namespace, a.Name = ref.Namespace, ref.Name
	a.FieldSelectorRequirements, a.LabelSelectorRequirements = selectorsOf(event.Verb, address.Query())
	return a
}

// selectorsOf returns the selectors that authorizers see. It ignores a selector that cannot be
// parsed.
func selectorsOf(verb string, query url.Values) (fields.Requirements, labels.Requirements) {
	if verb != "list" && verb != "watch" && verb != "deletecollection" {
		return nil, nil
	}
	var ofFields fields.Requirements
	if s, err := fields.ParseSelector(query.Get("fieldSelector")); err == nil {
		ofFields = s.Requirements()
	}
	ofLabels, err := labels.ParseToRequirements(query.Get("labelSelector"))
	if err != nil {
		return ofFields, nil
	}
	return ofFields, ofLabels
}

func userOf(event *auditv1.Event) user.Info {
	extra := map[string][]string{}
	for key, values := range event.User.Extra {
		extra[key] = values
	}
	return &user.DefaultInfo{Name: event.User.Username, UID: event.User.UID, Groups: event.User.Groups, Extra: extra}
}

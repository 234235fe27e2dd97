// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Request is one that the API server let an account make.
type Request struct {
	Attributes authorizer.AttributesRecord
	// WouldRefuse is what admission, with the account in audit, had against what was
	// written; empty if nothing, or if it did not look.
	WouldRefuse string
	// As is who the account made itself be by impersonation; empty for itself.
	As string
	// Constraint is the verb of the constrained impersonation that allowed it, if one did.
	Constraint string
}

// told is the end of what admission says of an account in audit: the key begins with the
// name of the webhook.
const told = "/would-refuse"

// requestOf is what the API server's authorizers were asked.
//
// Source: k8s.io/apiserver/pkg/endpoints/filters/authorization.go GetAuthorizerAttributes.
func requestOf(event *auditv1.Event) Request {
	r := Request{Attributes: authorizer.AttributesRecord{User: userOf(event), Verb: event.Verb}}
	for key, value := range event.Annotations {
		if strings.HasSuffix(key, told) {
			r.WouldRefuse = value
		}
	}
	if event.ImpersonatedUser != nil {
		r.As = event.ImpersonatedUser.Username
		if event.AuthenticationMetadata != nil {
			r.Constraint = event.AuthenticationMetadata.ImpersonationConstraint
		}
	}
	address, err := url.ParseRequestURI(event.RequestURI)
	if err != nil {
		address = &url.URL{}
	}
	a := &r.Attributes
	if event.ObjectRef == nil {
		a.Path = address.Path
		return r
	}
	ref := event.ObjectRef
	a.ResourceRequest = true
	a.APIGroup, a.APIVersion, a.Resource, a.Subresource = ref.APIGroup, ref.APIVersion, ref.Resource, ref.Subresource
	a.Namespace, a.Name = ref.Namespace, ref.Name
	a.FieldSelectorRequirements, a.LabelSelectorRequirements = selectorsOf(event.Verb, address.Query())
	return r
}

// selectorsOf reads those that authorizers see. One that does not parse is as if it were
// not there.
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

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

// Request is a request of an account that the API server permitted.
type Request struct {
	Attributes authorizer.AttributesRecord
	// WouldRefuse is the denial that admission reported for an account in audit mode. It is
	// empty if admission would not have denied, or did not check the request.
	WouldRefuse string
	// As is the user that the account impersonated. It is empty without impersonation.
	As string
	// Constraint is the verb of the constrained impersonation that permitted the request, if
	// any.
	Constraint string
}

// told is the suffix of the audit annotation with admission's report for an account in audit
// mode. The key begins with the name of the webhook.
const told = "/would-refuse"

// requestOf returns the request as the API server's authorizers saw it.
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

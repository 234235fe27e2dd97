// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditlog"
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

func requestOf(event *auditv1.Event) Request {
	r := Request{Attributes: auditlog.Attributes(event)}
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
	return r
}

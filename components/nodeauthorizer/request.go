// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "k8s.io/apiserver/pkg/authorization/authorizer"

// request is what a node asks. The rules read its fields: each getter of a pointer
// to a record copies the whole record first, and half a dozen of these copies took
// longer than everything else in most decisions.
type request = authorizer.AttributesRecord

// requestOf returns the record itself that the API server and our transport pass,
// and a copy of any other attributes. It is nil if there are none.
func requestOf(attributes authorizer.Attributes) *request {
	a, isRecord := attributes.(*request)
	if isRecord || attributes == nil {
		return a
	}
	return copyOf(attributes)
}

// copyOf copies what rules ask for. Requirements of a selector that did not parse
// could only narrow it further.
func copyOf(attributes authorizer.Attributes) *request {
	requirements, _ := attributes.GetFieldSelector()
	return &request{
		User:                      attributes.GetUser(),
		Verb:                      attributes.GetVerb(),
		Namespace:                 attributes.GetNamespace(),
		APIGroup:                  attributes.GetAPIGroup(),
		APIVersion:                attributes.GetAPIVersion(),
		Resource:                  attributes.GetResource(),
		Subresource:               attributes.GetSubresource(),
		Name:                      attributes.GetName(),
		ResourceRequest:           attributes.IsResourceRequest(),
		Path:                      attributes.GetPath(),
		FieldSelectorRequirements: requirements,
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "k8s.io/apiserver/pkg/authorization/authorizer"

// request is a node's request. The rules read its fields, not its getters: each getter of a pointer
// to an AttributesRecord first copies the whole record. About six of these copies took longer than
// all other work in most decisions.
type request = authorizer.AttributesRecord

// requestOf returns the record itself if the attributes are a pointer to a record, as the API
// server and Bulkhead's transport pass them. It copies any other attributes. It returns nil if the
// attributes are nil.
func requestOf(attributes authorizer.Attributes) *request {
	a, isRecord := attributes.(*request)
	if isRecord || attributes == nil {
		return a
	}
	return copyOf(attributes)
}

// copyOf copies the attributes that the rules use. Selector requirements that could not be parsed
// are dropped: they could only limit the request further.
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

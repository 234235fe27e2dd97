// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import "k8s.io/apiserver/pkg/authorization/authorizer"

// requestOf returns the record itself that the transport passes, and a copy of any
// other attributes. It is nil if there are none. Requirements of a selector that did not
// parse could only narrow it further.
func requestOf(attributes authorizer.Attributes) *request {
	a, isRecord := attributes.(*request)
	if isRecord || attributes == nil {
		return a
	}
	ofFields, _ := attributes.GetFieldSelector()
	ofLabels, _ := attributes.GetLabelSelector()
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
		FieldSelectorRequirements: ofFields,
		LabelSelectorRequirements: ofLabels,
	}
}

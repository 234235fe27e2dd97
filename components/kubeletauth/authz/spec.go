// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authz

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// specOf is what the API server is told: what k8s.io/apiserver/plugin/pkg/authorizer/webhook
// tells it, without selectors, which no request to a kubelet has and which only narrow.
// All of it has to be in keyOf.
func specOf(attrs authorizer.Attributes) authorizationv1.SubjectAccessReviewSpec {
	var spec authorizationv1.SubjectAccessReviewSpec
	if who := attrs.GetUser(); who != nil {
		spec.User, spec.UID, spec.Groups = who.GetName(), who.GetUID(), who.GetGroups()
		spec.Extra = extraOf(who.GetExtra())
	}
	if !attrs.IsResourceRequest() {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: attrs.GetPath(), Verb: attrs.GetVerb()}
		return spec
	}
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: attrs.GetNamespace(), Verb: attrs.GetVerb(),
		Group: attrs.GetAPIGroup(), Version: attrs.GetAPIVersion(),
		Resource: attrs.GetResource(), Subresource: attrs.GetSubresource(), Name: attrs.GetName(),
	}
	return spec
}

func extraOf(extra map[string][]string) map[string]authorizationv1.ExtraValue {
	if extra == nil {
		return nil
	}
	values := make(map[string]authorizationv1.ExtraValue, len(extra))
	for key, value := range extra {
		values[key] = value
	}
	return values
}

// attributeBytes is the size of what the requester chose of the attributes. The path
// of a resource request is not among it: the API server is not told.
func attributeBytes(attrs authorizer.Attributes) int {
	if !attrs.IsResourceRequest() {
		return len(attrs.GetPath()) + len(attrs.GetVerb())
	}
	return len(attrs.GetNamespace()) + len(attrs.GetVerb()) + len(attrs.GetAPIGroup()) + len(attrs.GetAPIVersion()) +
		len(attrs.GetResource()) + len(attrs.GetSubresource()) + len(attrs.GetName())
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// reviewCustom looks at both states of an object. The authorizer has read it a moment ago;
// what it was then, it need not be any more.
func reviewCustom(a admission.Attributes, at nodescope.Declaration, node string) rules.Decision {
	if sub := a.GetSubresource(); sub != "" && sub != "status" {
		return forbid(a, customStays, fmt.Sprintf("a pod on node %q cannot write the subresource %q", node, sub))
	}
	var states []runtime.Object
	switch a.GetOperation() {
	case admission.Create:
		states = []runtime.Object{a.GetObject()}
	case admission.Update:
		states = []runtime.Object{a.GetOldObject(), a.GetObject()}
	case admission.Delete:
		states = []runtime.Object{a.GetOldObject()}
	default:
		return forbid(a, customStays, fmt.Sprintf("unexpected operation %q", a.GetOperation()))
	}
	for _, o := range states {
		object, ok := o.(*unstructured.Unstructured)
		if !ok || object == nil {
			return unexpected(a, customStays, o)
		}
		if at.NodeIn(object.Object) != node {
			return forbid(a, customStays,
				fmt.Sprintf("a pod on node %q can only write objects that name that node, before and after", node))
		}
	}
	return admitted
}

// unexpected refuses an object that is not of the type that belongs to the resource, or is
// not there.
func unexpected(a admission.Attributes, by rules.Rule, o runtime.Object) rules.Decision {
	return forbid(a, by, fmt.Sprintf("unexpected type %T", o))
}

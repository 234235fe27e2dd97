// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// scopeAnnotations are the annotations that define a scope.
var scopeAnnotations = []string{nodescope.ScopeAnnotation, nodescope.ExemptionsAnnotation, nodescope.ModeAnnotation}

// annotationTarget is the kind of object on which a write sets annotations.
type annotationTarget uint8

const (
	// nothing means that the write cannot change an annotation of node scope.
	nothing annotationTarget = iota
	onAccount
	onPod
	// byBinding is a Binding. The API server copies its annotations to the pod that it binds.
	//
	// Source: pkg/registry/core/pod/storage/storage.go assignPod.
	byBinding
)

// annotationTargetOf returns the kind of object. It lists the subresources of pods that cannot change
// annotations, and treats a write to any other subresource as a write to the pod.
func annotationTargetOf(r nodescope.Resource) annotationTarget {
	switch {
	case r.Group != "":
		return nothing
	case r == nodescope.Resource{Resource: "serviceaccounts"}:
		return onAccount
	case r == nodescope.Resource{Resource: "bindings"}, r == nodescope.Resource{Resource: "pods", Subresource: "binding"}:
		return byBinding
	case r.Resource != "pods":
		return nothing
	}
	switch r.Subresource {
	case "eviction", "exec", "attach", "portforward", "proxy", "log":
		return nothing
	}
	return onPod
}

// changesMark returns, as the end of a sentence, which change of node-scope annotations a write
// would make. It is empty for a write without such a change.
func changesMark(a admission.Attributes) string {
	on := annotationTargetOf(resourceOf(a))
	if on == nothing {
		return ""
	}
	switch a.GetOperation() {
	case admission.Create:
		return setsMark(nil, a.GetObject())
	case admission.Update:
		before, ok := annotationsOf(a.GetOldObject())
		if !ok {
			return fmt.Sprintf("sends an unexpected type %T", a.GetOldObject())
		}
		return setsMark(before, a.GetObject())
	case admission.Delete:
		if on == onAccount {
			return deletesMark(a.GetOldObject())
		}
	}
	return ""
}

func setsMark(before map[string]string, object runtime.Object) string {
	after, ok := annotationsOf(object)
	if !ok {
		return fmt.Sprintf("sends an unexpected type %T", object)
	}
	var changed []string
	for _, key := range scopeAnnotations {
		was, had := before[key]
		if is, has := after[key]; had != has || was != is {
			changed = append(changed, key)
		}
	}
	if len(changed) == 0 {
		return ""
	}
	return "must not set, change or remove annotations of node scope: " + strings.Join(changed, ", ")
}

func deletesMark(account runtime.Object) string {
	has, ok := annotationsOf(account)
	if !ok {
		return fmt.Sprintf("deletes an unexpected type %T", account)
	}
	for _, key := range scopeAnnotations {
		if _, marked := has[key]; marked {
			return "must not delete a ServiceAccount that has an annotation of node scope: " + key
		}
	}
	return ""
}

// annotationsOf returns the annotations of an object. ok is false for nil, and for an object of
// another type.
func annotationsOf(o runtime.Object) (annotations map[string]string, ok bool) {
	switch o := o.(type) {
	case *corev1.Pod:
		if o != nil {
			return o.Annotations, true
		}
	case *corev1.ServiceAccount:
		if o != nil {
			return o.Annotations, true
		}
	case *corev1.Binding:
		if o != nil {
			return o.Annotations, true
		}
	}
	return nil, false
}

// byScoped returns the rule that denies a user with a scope. byNode returns the one that denies
// a node.
func byScoped(a admission.Attributes) rules.Rule {
	if annotationTargetOf(resourceOf(a)) == onAccount {
		return markedAccount
	}
	return markedPod
}

func byNode(a admission.Attributes) rules.Rule {
	if annotationTargetOf(resourceOf(a)) == onAccount {
		return markedAccountByNode
	}
	return markedPodByNode
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// decideScoped decides a write to a resource in the scope of a pod whose node is known.
func (r *Reviewer) decideScoped(ctx context.Context, a admission.Attributes, who nodescope.Identity) rules.Decision {
	what := resourceOf(a)
	if at, declared := r.config.Custom.Of(what); declared {
		return reviewCustom(a, at, who.Node())
	}
	if (what == nodescope.Resource{Resource: "pods"}) {
		switch a.GetOperation() {
		case admission.Create:
			return forbid(a, podWhole, fmt.Sprintf("a pod on node %q creates no pods", who.Node()))
		case admission.Update:
			return reviewPod(a, who.Node())
		}
	}
	return citing(r.config.Nodes.ReviewExempting(ctx, asNode{a, userOf(who.Node())}, who.Lifts), asItsNode)
}

// reviewPod limits a write to pods on the node. It compares both states, although the API
// server rejects every change of the node of a bound pod.
func reviewPod(a admission.Attributes, node string) rules.Decision {
	old, ok := a.GetOldObject().(*corev1.Pod)
	if !ok || old == nil {
		return unexpected(a, podWhole, a.GetOldObject())
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok || pod == nil {
		return unexpected(a, podWhole, a.GetObject())
	}
	switch {
	case old.Spec.NodeName != node || pod.Spec.NodeName != node:
		return forbid(a, podWhole,
			fmt.Sprintf("a pod on node %q can only change pods with spec.nodeName set to that node", node))
	case !maps.Equal(old.Labels, pod.Labels):
		return forbid(a, podReach, fmt.Sprintf("a pod on node %q cannot change labels of pods", node))
	case !apiequality.Semantic.DeepEqual(old.OwnerReferences, pod.OwnerReferences):
		return forbid(a, podReach, fmt.Sprintf("a pod on node %q cannot change ownerReferences of pods", node))
	}
	return admitted
}

// asNode is a write with a node as its user.
type asNode struct {
	admission.Attributes
	node user.Info
}

func (a asNode) GetUserInfo() user.Info { return a.node }

// userOf returns the user that the node of that name is to an API server.
//
// Source: pkg/auth/nodeidentifier/default.go.
func userOf(node string) user.Info {
	return &user.DefaultInfo{Name: nodeidentity.Prefix + node, Groups: []string{user.NodesGroup, user.AllAuthenticated}}
}

// reviewCustom checks the old and the new state of an object. The authorizer has read the
// object, but the object may have changed since.
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

// unexpected denies a write whose object is nil, or is not of the type of the resource.
func unexpected(a admission.Attributes, by rules.Rule, o runtime.Object) rules.Decision {
	return forbid(a, by, fmt.Sprintf("unexpected type %T", o))
}

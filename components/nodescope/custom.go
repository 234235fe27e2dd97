// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/selection"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	customSelected = rules.Rule{
		ID: "NS-CUSTOM-1",
		Description: "With a declared custom resource in its scope, a pod may list, watch and delete a collection " +
			"of its objects only with a selector that sets the declared field or label to its own node.",
		Source:    seed + ", use cases: permissions on custom resources; KEP-4358",
		Extension: true,
	}
	customRead = rules.Rule{
		ID: "NS-CUSTOM-2",
		Description: "With a declared custom resource in its scope, a pod may get, update, patch and delete an " +
			"object, and its status, only if the object, read at that moment, names the pod's node at the " +
			"declared place. It may not create one, or use another subresource.",
		Source:    seed + ", use cases: permissions on custom resources",
		Extension: true,
	}
)

// authorizeCustom decides requests for objects that name the node that they belong to.
func (z *Authorizer) authorizeCustom(ctx context.Context, node string, at Declaration, r Resource,
	a *request) rules.Decision {
	switch a.Verb {
	case "list", "watch", "deletecollection":
		if r.Subresource == "" && selectsNode(node, at, a) {
			return noOpinion(customSelected)
		}
		return deny(customSelected,
			"a pod on node '"+node+"' can only "+a.Verb+" "+r.String()+" with a selector that sets "+at.place()+" to that node")
	case "get", "update", "patch":
		if r.Subresource != "" && r.Subresource != "status" {
			return notCustom(node, r, a)
		}
	case "delete":
		if r.Subresource != "" {
			return notCustom(node, r, a)
		}
	default:
		return notCustom(node, r, a)
	}
	return z.authorizeObject(ctx, node, at, a)
}

func notCustom(node string, r Resource, a *request) rules.Decision {
	return deny(customRead, "a pod on node '"+node+"' cannot "+a.Verb+" "+r.String())
}

// authorizeObject reads the object to find its node. If the object has the name of its node, it
// is not read.
func (z *Authorizer) authorizeObject(ctx context.Context, node string, at Declaration, a *request) rules.Decision {
	if a.Name == "" {
		return deny(customRead, "the request names no object")
	}
	said := a.Name
	if at.Field != ownName {
		if z.Objects == nil {
			return deny(unready, "objects of custom resources cannot be read")
		}
		var err error
		if said, err = z.Objects.NodeOf(ctx, node, at, a.APIVersion, a.Namespace, a.Name); err != nil {
			return deny(unready, "which node the object belongs to cannot be read: "+err.Error())
		}
	}
	if said != node {
		return deny(customRead, "the object does not belong to node '"+node+"' by its "+at.place())
	}
	return noOpinion(customRead)
}

func (d Declaration) place() string {
	if d.Field != "" {
		return "field " + d.Field
	}
	return "label " + d.Label
}

// selectsNode reports whether the selectors of a request match only objects of one node. All
// requirements must match, so one requirement on the node is enough.
func selectsNode(node string, at Declaration, a *request) bool {
	for i := range a.FieldSelectorRequirements {
		r := &a.FieldSelectorRequirements[i]
		if at.Field != "" && r.Field == at.Field && r.Operator == selection.Equals && r.Value == node {
			return true
		}
	}
	for i := range a.LabelSelectorRequirements {
		r := &a.LabelSelectorRequirements[i]
		if at.Label != "" && r.Key() == at.Label && isOne(r.Operator()) && slices.Equal(r.ValuesUnsorted(), []string{node}) {
			return true
		}
	}
	return false
}

func isOne(operator selection.Operator) bool {
	return operator == selection.In || operator == selection.Equals || operator == selection.DoubleEquals
}

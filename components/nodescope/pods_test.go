// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"testing"

	"k8s.io/apimachinery/pkg/selection"
)

func TestPods(t *testing.T) { run(t, podRows()) }

func podRows() []row {
	const asNode = "a pod on node 'me' is held to what that node may do: "
	const unrelated = asNode + "no relationship found between node 'me' and this object [NA-POD-1] "
	const needsSelector = asNode + "can only list/watch pods with spec.nodeName field selector [NA-POD-2] [NS-POD-1]"
	mine, theirs := selectingField("spec.nodeName", selection.Equals, "me"), selectingField("spec.nodeName", selection.Equals, "other")
	return []row{
		{"a pod on its node may get it", nil, "", request{Verb: "get", Resource: "pods", Namespace: "ns", Name: "my-pod"}, true, "[NS-POD-1]"},
		{"a pod on another node is refused", nil, "", request{Verb: "get", Resource: "pods", Namespace: "ns", Name: "their-pod"}, false, unrelated + "[NS-POD-1]"},
		{"a list of the pods on its node may have it", nil, "", request{Verb: "list", Resource: "pods", FieldSelectorRequirements: mine}, true, "[NS-POD-1]"},
		{"a list of the pods on another node is refused", nil, "", request{Verb: "list", Resource: "pods", FieldSelectorRequirements: theirs}, false, needsSelector},
		{"a list of all pods is refused", nil, "", request{Verb: "list", Resource: "pods"}, false, needsSelector},
		{"a watch of the pods on its node may have it", nil, "", request{Verb: "watch", Resource: "pods", FieldSelectorRequirements: mine}, true, "[NS-POD-1]"},
		{"a watch of the pods on another node is refused", nil, "", request{Verb: "watch", Resource: "pods", FieldSelectorRequirements: theirs}, false, needsSelector},
		{"a patch of a pod on its node may do it", nil, "", request{Verb: "patch", Resource: "pods", Namespace: "ns", Name: "my-pod"}, true, "[NS-POD-2]"},
		{"a patch of a pod on another node is refused", nil, "", request{Verb: "patch", Resource: "pods", Namespace: "ns", Name: "their-pod"}, false, unrelated + "[NS-POD-2]"},
		{"a patch of a pod of that name in another namespace is refused", nil, "", request{Verb: "patch", Resource: "pods", Namespace: "other", Name: "my-pod"}, false, unrelated + "[NS-POD-2]"},
		{"an update of a pod on its node is refused", nil, "", request{Verb: "update", Resource: "pods", Namespace: "ns", Name: "my-pod"}, false, asNode + "no rule allows a node to update pods [NA-POD-3] [NS-POD-2]"},
		{"the deletion of a pod on its node may do it", nil, "", request{Verb: "delete", Resource: "pods", Namespace: "ns", Name: "my-pod"}, true, "[NS-POD-3]"},
		{"the deletion of a pod on another node is refused", nil, "", request{Verb: "delete", Resource: "pods", Namespace: "ns", Name: "their-pod"}, false, unrelated + "[NS-POD-3]"},
		{"the deletion of many pods is refused", nil, "", request{Verb: "deletecollection", Resource: "pods", Namespace: "ns", FieldSelectorRequirements: mine}, false, asNode + "no rule allows a node to deletecollection pods [NA-POD-3] [NS-POD-3]"},
		{"the eviction of a pod on its node may do it", nil, "", request{Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: "ns", Name: "my-pod"}, true, "[NS-POD-3]"},
		{"the eviction of a pod on another node is refused", nil, "", request{Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: "ns", Name: "their-pod"}, false, unrelated + "[NS-POD-3]"},
		{"a patch of the status of a pod on its node may do it", nil, "", request{Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "ns", Name: "my-pod"}, true, "[NS-POD-3]"},
		{"a patch of the status of a pod on another node is refused", nil, "", request{Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "ns", Name: "their-pod"}, false, unrelated + "[NS-POD-3]"},
		{"a shell in a pod on its node is refused", nil, "", request{Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "ns", Name: "my-pod"}, false, asNode + "no rule allows a node to create pods/exec [NA-POD-4] [NS-POD-3]"},
		{"a shell in a pod, its scope having no shells, may do it", nil, "pods", request{Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "ns", Name: "their-pod"}, true, "[NS-PASS-1]"},
		{"a new pod is refused", nil, "", request{Verb: "create", Resource: "pods", Namespace: "ns"}, false, "a pod that is held to its node creates no pods [NS-POD-3]"},
	}
}

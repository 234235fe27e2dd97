// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"testing"

	"k8s.io/apimachinery/pkg/selection"
)

func TestPods(t *testing.T) { run(t, podRows()) }

func podRows() []row {
	const asNode = "a pod on node 'me' is limited to what that node may do: "
	const unrelated = asNode + "no relationship found between node 'me' and this object [NA-POD-1] "
	const needsSelector = asNode + "can only list/watch pods with spec.nodeName field selector [NA-POD-2] [NS-POD-1]"
	mine, theirs := selectingField("spec.nodeName", selection.Equals, "me"),
		selectingField("spec.nodeName", selection.Equals, "other")
	subresource := func(verb, name, pod string) request {
		return request{Verb: verb, Resource: "pods", Subresource: name, Namespace: "ns", Name: pod}
	}
	return []row{
		{"a pod on its node may get it", nil, "", request{Verb: "get", Resource: "pods", Namespace: "ns", Name: "my-pod"},
			true, "[NS-POD-1]"},
		{"a pod on another node is refused", nil, "",
			request{Verb: "get", Resource: "pods", Namespace: "ns", Name: "their-pod"}, false, unrelated + "[NS-POD-1]"},
		{"a list of the pods on its node may have it", nil, "",
			request{Verb: "list", Resource: "pods", FieldSelectorRequirements: mine}, true, "[NS-POD-1]"},
		{"a list of the pods on another node is refused", nil, "",
			request{Verb: "list", Resource: "pods", FieldSelectorRequirements: theirs}, false, needsSelector},
		{"a list of all pods is refused", nil, "", request{Verb: "list", Resource: "pods"}, false, needsSelector},
		{"a watch of the pods on its node may have it", nil, "",
			request{Verb: "watch", Resource: "pods", FieldSelectorRequirements: mine}, true, "[NS-POD-1]"},
		{"a watch of the pods on another node is refused", nil, "",
			request{Verb: "watch", Resource: "pods", FieldSelectorRequirements: theirs}, false, needsSelector},
		{"a patch of a pod on its node may do it", nil, "",
			request{Verb: "patch", Resource: "pods", Namespace: "ns", Name: "my-pod"}, true, "[NS-POD-2]"},
		{"a patch of a pod on another node is refused", nil, "",
			request{Verb: "patch", Resource: "pods", Namespace: "ns", Name: "their-pod"}, false, unrelated + "[NS-POD-2]"},
		{"a patch of a pod of that name in another namespace is refused", nil, "",
			request{Verb: "patch", Resource: "pods", Namespace: "other", Name: "my-pod"}, false, unrelated + "[NS-POD-2]"},
		{"an update of a pod on its node is refused", nil, "",
			request{Verb: "update", Resource: "pods", Namespace: "ns", Name: "my-pod"}, false,
			asNode + "no rule allows a node to update pods [NA-POD-3] [NS-POD-2]"},
		{"the deletion of a pod on its node may do it", nil, "",
			request{Verb: "delete", Resource: "pods", Namespace: "ns", Name: "my-pod"}, true, "[NS-POD-3]"},
		{"the deletion of a pod on another node is refused", nil, "",
			request{Verb: "delete", Resource: "pods", Namespace: "ns", Name: "their-pod"}, false, unrelated + "[NS-POD-3]"},
		{"the deletion of many pods is refused", nil, "",
			request{Verb: "deletecollection", Resource: "pods", Namespace: "ns", FieldSelectorRequirements: mine}, false,
			asNode + "no rule allows a node to deletecollection pods [NA-POD-3] [NS-POD-3]"},
		{"the eviction of a pod on its node may do it", nil, "",
			request{Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: "ns", Name: "my-pod"}, true,
			"[NS-POD-3]"},
		{"the eviction of a pod on another node is refused", nil, "",
			request{Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: "ns", Name: "their-pod"}, false,
			unrelated + "[NS-POD-3]"},
		{"a patch of the status of a pod on its node may do it", nil, "",
			request{Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "ns", Name: "my-pod"}, true,
			"[NS-POD-3]"},
		{"a patch of the status of a pod on another node is refused", nil, "",
			request{Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "ns", Name: "their-pod"}, false,
			unrelated + "[NS-POD-3]"},
		{"a shell in a pod on its node may have it", nil, "", subresource("create", "exec", "my-pod"), true, "[NS-POD-4]"},
		{"a shell in a pod on another node is refused", nil, "", subresource("create", "exec", "their-pod"), false,
			unrelated + "[NS-POD-4]"},
		{"a shell in a pod on another node, its scope having pods alone, may have it", nil, "pods/-",
			subresource("create", "exec", "their-pod"), true, "[NS-PASS-1]"},
		{"a shell in a pod on another node by get is refused", nil, "pods", subresource("get", "exec", "their-pod"), false,
			unrelated + "[NS-POD-4]"},
		{"the log of a pod on its node may get it", nil, "pods", subresource("get", "log", "my-pod"), true, "[NS-POD-4]"},
		{"the log of a pod on another node is refused", nil, "pods", subresource("get", "log", "their-pod"), false,
			unrelated + "[NS-POD-4]"},
		{"the log of a pod on another node, its scope having logs alone, is refused", nil, "pods/log",
			subresource("get", "log", "their-pod"), false, unrelated + "[NS-POD-4]"},
		{"to attach to a pod on its node may do it", nil, "pods/attach", subresource("create", "attach", "my-pod"), true,
			"[NS-POD-4]"},
		{"to attach to a pod on another node is refused", nil, "pods/attach", subresource("create", "attach", "their-pod"),
			false, unrelated + "[NS-POD-4]"},
		{"a port of a pod on its node may have it", nil, "pods", subresource("create", "portforward", "my-pod"), true,
			"[NS-POD-4]"},
		{"a port of a pod on another node is refused", nil, "pods", subresource("create", "portforward", "their-pod"), false,
			unrelated + "[NS-POD-4]"},
		{"the proxy of a pod on its node may get it", nil, "pods", subresource("get", "proxy", "my-pod"), true, "[NS-POD-4]"},
		{"the proxy of a pod on another node is refused", nil, "pods", subresource("get", "proxy", "their-pod"), false,
			unrelated + "[NS-POD-4]"},
		{"the proxy of a port of a pod is refused", nil, "pods", subresource("get", "proxy", "my-pod:8080"), false,
			unrelated + "[NS-POD-4]"},
		{"the proxy of no pod is refused", nil, "pods", subresource("get", "proxy", ""), false,
			asNode + "No Object name found [NA-POD-1] [NS-POD-4]"},
		{"the eviction of a pod on another node, its scope having pods, is refused", nil, "pods",
			subresource("create", "eviction", "their-pod"), false, unrelated + "[NS-POD-3]"},
		{"ephemeral containers of a pod on another node, its scope having pods, is refused", nil, "pods",
			subresource("patch", "ephemeralcontainers", "their-pod"), false,
			asNode + "no rule allows a node to patch pods/ephemeralcontainers [NA-POD-4] [NS-POD-3]"},
		{"ephemeral containers of a pod, its scope having pods alone, may do it", nil, "pods/-",
			subresource("patch", "ephemeralcontainers", "their-pod"), true, "[NS-PASS-1]"},
		{"to bind a pod, its scope having pods, is refused", nil, "pods",
			request{Verb: "create", Resource: "bindings", Namespace: "ns"}, false,
			asNode + "no rule allows a node to create bindings [NA-DEFAULT] [NS-SCOPE-1]"},
		{"a new pod is refused", nil, "", request{Verb: "create", Resource: "pods", Namespace: "ns"}, false,
			"a pod that is limited to its node creates no pods [NS-POD-3]"},
	}
}

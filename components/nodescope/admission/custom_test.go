// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
)

func TestCustomResources(t *testing.T) { run(t, customRows()) }

// The spec of a widget names its node. A label of a gadget names its node.
func widget(node any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "ns", "name": "w"},
		"spec": map[string]any{"node": node},
	}}
}

func gadget(node string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v2", "kind": "Gadget",
		"metadata": map[string]any{"name": "g", "labels": map[string]any{"example.com/node": node}},
	}}
}

func customRows() []row {
	const widgetText = `widgets.example.com "w" is forbidden: `
	const onlyOwn = `a pod on node "me" can only write objects that name that node, before and after [NS-CUSTOM-3]`
	update := func(at string, before, after *unstructured.Unstructured) admission.Attributes {
		return write(admission.Update, at, after, before)
	}
	return []row{
		{name: "an object of its node", write: update("widgets", widget("me"), widget("me"))},
		{name: "an object that it hands to another node", write: update("widgets", widget("me"), widget("other")),
			by: "NS-CUSTOM-3", says: widgetText + onlyOwn},
		{name: "an object that it hands to another node, its scope having none", scope: "pods",
			write: update("widgets", widget("me"), widget("other"))},
		{name: "an object that it takes from another node", write: update("widgets", widget("other"), widget("me")),
			by: "NS-CUSTOM-3", says: widgetText + onlyOwn},
		{name: "an object that names no node", write: update("widgets", widget(nil), widget("me")), by: "NS-CUSTOM-3",
			says: widgetText + onlyOwn},
		{name: "an object with an invalid node name", write: update("widgets", widget("me"), widget([]any{"me"})),
			by: "NS-CUSTOM-3", says: widgetText + onlyOwn},
		{name: "the status of an object of its node", write: update("widgets/status", widget("me"), widget("me"))},
		{name: "the status of an object of another node", write: update("widgets/status", widget("other"), widget("other")),
			by: "NS-CUSTOM-3", says: widgetText + onlyOwn},
		{name: "another subresource", write: update("widgets/scale", widget("me"), widget("me")), by: "NS-CUSTOM-3",
			says: widgetText + `a pod on node "me" cannot write the subresource "scale" [NS-CUSTOM-3]`},
		{name: "no more of an object of its node", write: write(admission.Delete, "widgets", nil, widget("me"))},
		{name: "no more of an object of another node", write: write(admission.Delete, "widgets", nil, widget("other")),
			by: "NS-CUSTOM-3", says: widgetText + onlyOwn},
		{name: "an object for another node", write: write(admission.Create, "widgets", widget("other"), nil),
			by: "NS-CUSTOM-3", says: widgetText + onlyOwn},
		{name: "an object with its node's label", write: update("gadgets", gadget("me"), gadget("me"))},
		{name: "an object that gets another node's label", write: update("gadgets", gadget("me"), gadget("other")),
			by: "NS-CUSTOM-3", says: `gadgets.example.com "g" is forbidden: ` + onlyOwn},
		{name: "an object of a known type", write: write(admission.Update, "widgets", &corev1.Pod{}, widget("me")),
			by: "NS-CUSTOM-3", says: `widgets.example.com is forbidden: unexpected type *v1.Pod [NS-CUSTOM-3]`},
		{name: "no object", write: write(admission.Delete, "widgets", nil, nil), by: "NS-CUSTOM-3",
			says: `widgets.example.com is forbidden: unexpected type <nil> [NS-CUSTOM-3]`},
		{name: "a connection", write: write(admission.Connect, "widgets", nil, nil), by: "NS-CUSTOM-3",
			says: `widgets.example.com is forbidden: unexpected operation "CONNECT" [NS-CUSTOM-3]`},
	}
}

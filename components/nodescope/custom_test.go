// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func TestCustomResources(t *testing.T) { run(t, customRows()) }

// requirement panics if the arguments of a test are not valid.
func requirement(key string, operator selection.Operator, values ...string) labels.Requirements {
	r, err := labels.NewRequirement(key, operator, values)
	if err != nil {
		panic(err)
	}
	return labels.Requirements{*r}
}

var hostnameLabel = requirement("kubernetes.io/hostname", selection.In, "me")

// of returns a request for a resource of the API group of the declarations.
func of(resource, verb, name string, edit ...func(*request)) request {
	a := request{Verb: verb, APIGroup: "example.com", Resource: resource, Namespace: "ns", Name: name}
	for _, e := range edit {
		e(&a)
	}
	return a
}

func byField(field string, operator selection.Operator, value string) func(*request) {
	return func(a *request) { a.FieldSelectorRequirements = selectingField(field, operator, value) }
}

func byLabel(key string, operator selection.Operator, values ...string) func(*request) {
	return func(a *request) { a.LabelSelectorRequirements = requirement(key, operator, values...) }
}

func sub(name string) func(*request) { return func(a *request) { a.Subresource = name } }

func customRows() []row {
	const field, label = "sets field spec.node to that node [NS-CUSTOM-1]",
		"sets label example.com/node to that node [NS-CUSTOM-1]"
	const only, with = "a pod on node 'me' can only ", " with a selector that "
	const notMine = "the object does not belong to node 'me' by its field spec.node [NS-CUSTOM-2]"
	return []row{
		{"a list of its widgets may have it", nil, "",
			of("widgets", "list", "", byField("spec.node", selection.Equals, "me")), true, "[NS-CUSTOM-1]"},
		{"a list of another node's widgets is refused", nil, "",
			of("widgets", "list", "", byField("spec.node", selection.Equals, "other")), false,
			only + "list widgets.example.com" + with + field},
		{"a list of all widgets is refused", nil, "", of("widgets", "list", ""), false,
			only + "list widgets.example.com" + with + field},
		{"a list of all widgets but its own is refused", nil, "",
			of("widgets", "list", "", byField("spec.node", selection.NotEquals, "me")), false,
			only + "list widgets.example.com" + with + field},
		{"a list of widgets by another field is refused", nil, "",
			of("widgets", "list", "", byField("spec.Node", selection.Equals, "me")), false,
			only + "list widgets.example.com" + with + field},
		{"a list of widgets by a label of the field's name is refused", nil, "",
			of("widgets", "list", "", byLabel("spec.node", selection.In, "me")), false,
			only + "list widgets.example.com" + with + field},
		{"a watch of its widgets may have it", nil, "",
			of("widgets", "watch", "", byField("spec.node", selection.Equals, "me")), true, "[NS-CUSTOM-1]"},
		{"a watch of another node's widgets is refused", nil, "",
			of("widgets", "watch", "", byField("spec.node", selection.Equals, "other")), false,
			only + "watch widgets.example.com" + with + field},
		{"the deletion of its widgets may do it", nil, "",
			of("widgets", "deletecollection", "", byField("spec.node", selection.Equals, "me")), true, "[NS-CUSTOM-1]"},
		{"the deletion of another node's widgets is refused", nil, "",
			of("widgets", "deletecollection", "", byField("spec.node", selection.Equals, "other")), false,
			only + "deletecollection widgets.example.com" + with + field},
		{"a list of its gadgets may have it", nil, "",
			of("gadgets", "list", "", byLabel("example.com/node", selection.Equals, "me")), true, "[NS-CUSTOM-1]"},
		{"a list of gadgets in a set of one may have it", nil, "",
			of("gadgets", "list", "", byLabel("example.com/node", selection.In, "me")), true, "[NS-CUSTOM-1]"},
		{"a list of gadgets in a set of two is refused", nil, "",
			of("gadgets", "list", "", byLabel("example.com/node", selection.In, "me", "other")), false,
			only + "list gadgets.example.com" + with + label},
		{"a list of gadgets not in the set is refused", nil, "",
			of("gadgets", "list", "", byLabel("example.com/node", selection.NotIn, "me")), false,
			only + "list gadgets.example.com" + with + label},
		{"a list of gadgets that have the label is refused", nil, "",
			of("gadgets", "list", "", byLabel("example.com/node", selection.Exists)), false,
			only + "list gadgets.example.com" + with + label},
		{"a list of gadgets by a field of the label's name is refused", nil, "",
			of("gadgets", "list", "", byField("example.com/node", selection.Equals, "me")), false,
			only + "list gadgets.example.com" + with + label},
		{"its widget may get it", nil, "", of("widgets", "get", "mine"), true, "[NS-CUSTOM-2]"},
		{"another node's widget is refused", nil, "", of("widgets", "get", "theirs"), false, notMine},
		{"another node's widget with a selector is refused", nil, "",
			of("widgets", "get", "theirs", byField("spec.node", selection.Equals, "me")), false, notMine},
		{"a widget that names no node is refused", nil, "", of("widgets", "get", "nobodys"), false, notMine},
		{"a widget that is not there is refused", nil, "", of("widgets", "get", "absent"), false, notMine},
		{"a widget without a name is refused", nil, "", of("widgets", "get", ""), false,
			"the request names no object [NS-CUSTOM-2]"},
		{"a widget that cannot be read is refused", nil, "", of("widgets", "get", "broken"), false,
			"which node the object belongs to cannot be read: the API server does not answer [NS-UNREADY]"},
		{"an update of its widget may do it", nil, "", of("widgets", "update", "mine"), true, "[NS-CUSTOM-2]"},
		{"an update of another node's widget is refused", nil, "", of("widgets", "update", "theirs"), false, notMine},
		{"a patch of its widget may do it", nil, "", of("widgets", "patch", "mine"), true, "[NS-CUSTOM-2]"},
		{"a patch of another node's widget is refused", nil, "", of("widgets", "patch", "theirs"), false, notMine},
		{"the deletion of its widget may do it", nil, "", of("widgets", "delete", "mine"), true, "[NS-CUSTOM-2]"},
		{"the deletion of another node's widget is refused", nil, "", of("widgets", "delete", "theirs"), false, notMine},
		{"its gadget may get it", nil, "", of("gadgets", "get", "mine"), true, "[NS-CUSTOM-2]"},
		{"another node's gadget is refused", nil, "", of("gadgets", "get", "theirs"), false,
			"the object does not belong to node 'me' by its label example.com/node [NS-CUSTOM-2]"},
		{"an object named as its node may get it", nil, "", of("twins", "get", "me"), true, "[NS-CUSTOM-2]"},
		{"an object named as another node is refused", nil, "", of("twins", "get", "other"), false,
			"the object does not belong to node 'me' by its field metadata.name [NS-CUSTOM-2]"},
		{"a list of objects named as its node may have it", nil, "",
			of("twins", "list", "me", byField("metadata.name", selection.Equals, "me")), true, "[NS-CUSTOM-1]"},
		{"a patch of its widget's status may do it", nil, "", of("widgets", "patch", "mine", sub("status")), true,
			"[NS-CUSTOM-2]"},
		{"a patch of another node's widget's status is refused", nil, "", of("widgets", "patch", "theirs", sub("status")),
			false, notMine},
		{"the deletion of a status is refused", nil, "", of("widgets", "delete", "mine", sub("status")), false,
			"a pod on node 'me' cannot delete widgets.example.com/status [NS-CUSTOM-2]"},
		{"a list of a status is refused", nil, "",
			of("widgets", "list", "", sub("status"), byField("spec.node", selection.Equals, "me")), false,
			only + "list widgets.example.com/status" + with + field},
		{"the scale of its widget is refused", nil, "", of("widgets", "update", "mine", sub("scale")), false,
			"a pod on node 'me' cannot update widgets.example.com/scale [NS-CUSTOM-2]"},
		{"a new widget is refused", nil, "", of("widgets", "create", ""), false,
			"a pod on node 'me' cannot create widgets.example.com [NS-CUSTOM-2]"},
		{"every verb on its widget is refused", nil, "", of("widgets", "*", "mine"), false,
			"a pod on node 'me' cannot * widgets.example.com [NS-CUSTOM-2]"},
	}
}

// If Objects is nil, access is denied, except to objects that have the name of their node.
func TestCustomResourcesWithoutAReader(t *testing.T) {
	z := newOver(t, clusterOf(Account{Scope: mustScope(t, usualScope)}))
	z.Objects = nil
	for _, tc := range []row{
		{asks: of("widgets", "get", "mine"), reason: "objects of custom resources cannot be read [NS-UNREADY]"},
		{asks: of("twins", "get", "me"), passed: true, reason: "[NS-CUSTOM-2]"},
	} {
		decision, reason, _ := z.Authorize(t.Context(), tc.complete())
		if (decision == authorizer.DecisionNoOpinion) != tc.passed || reason != tc.reason {
			t.Errorf("got %v, %q, want %q", decision, reason, tc.reason)
		}
	}
}

// A custom resource in the scope that is not declared is denied.
func TestUndeclaredCustomResources(t *testing.T) {
	run(t, []row{
		{"an undeclared resource is refused", nil, "wheels.example.com", of("wheels", "get", "mine"), false,
			"a pod on node 'me' is limited to what that node may do: no rule allows a node to get wheels.example.com " +
				"[NA-DEFAULT] [NS-SCOPE-1]"},
		{"an undeclared resource outside the scope may have it", nil, "pods", of("wheels", "get", "mine"), true,
			"[NS-PASS-1]"},
	})
}

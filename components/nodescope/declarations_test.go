// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestDeclarations(t *testing.T) {
	d, err := ParseDeclarations("\n" + usualCustom + "\n")
	if err != nil {
		t.Fatal(err)
	}
	widgets := Resource{Group: "example.com", Resource: "widgets"}
	for _, tc := range []struct {
		asks Resource
		want Declaration
	}{
		{widgets, Declaration{Resource: widgets, Field: "spec.node"}},
		{Resource{Group: "example.com", Resource: "widgets", Subresource: "status"},
			Declaration{Resource: widgets, Field: "spec.node"}},
		{Resource{Group: "example.com", Resource: "gadgets"},
			Declaration{Resource: Resource{Group: "example.com", Resource: "gadgets"}, Label: "example.com/node"}},
		{Resource{Resource: "widgets"}, Declaration{}},
		{Resource{Group: "example.org", Resource: "widgets"}, Declaration{}},
		{Resource{Resource: "nodes"}, Declaration{}},
	} {
		got, ok := d.Of(tc.asks)
		if diff := cmp.Diff(tc.want, got); diff != "" || ok != (tc.want != Declaration{}) {
			t.Errorf("%s: %v (-want +got):\n%s", tc.asks, ok, diff)
		}
	}
	if _, ok := (Declarations{}).Of(widgets); ok {
		t.Error("nothing is declared, but this is")
	}
}

func TestDeclarationsThatAreRefused(t *testing.T) {
	for value, want := range map[string]string{
		"widgets.example.com":                         `"widgets.example.com": ` + errDeclaration.Error(),
		"widgets.example.com=spec.node":               `"widgets.example.com=spec.node": ` + errDeclaration.Error(),
		"widgets.example.com=cel:x":                   `"widgets.example.com=cel:x": ` + errDeclaration.Error(),
		"widgets.example.com/status=field:x":          `"widgets.example.com/status=field:x": ` + errDeclaration.Error(),
		"*.example.com=field:x":                       `"*.example.com=field:x": ` + errDeclaration.Error(),
		"widgets.example.com=field:":                  `"widgets.example.com=field:": ` + errField.Error(),
		"widgets.example.com=field:.spec":             `"widgets.example.com=field:.spec": ` + errField.Error(),
		"widgets.example.com=field:spec[0]":           `"widgets.example.com=field:spec[0]": ` + errField.Error(),
		"pods=field:spec.nodeName":                    `"pods=field:spec.nodeName": ` + errBuiltIn.Error(),
		"deployments.apps=label:x":                    `"deployments.apps=label:x": ` + errBuiltIn.Error(),
		"csinodes.storage.k8s.io=label:x":             `"csinodes.storage.k8s.io=label:x": ` + errBuiltIn.Error(),
		"a.example.com=label:x,a.example.com=label:y": `"a.example.com=label:y": ` + errTwice.Error(),
		"a.example.com=label:x,":                      `"": ` + errDeclaration.Error(),
		strings.Repeat("a", 256<<10):                  errTooLong.Error(),
	} {
		d, err := ParseDeclarations(value)
		if want = "custom resources of nodes: " + want; err == nil || err.Error() != want || len(d.byResource) > 0 {
			t.Errorf("%s: got %v, want %s", shortened(value), err, want)
		}
	}
	if _, err := ParseDeclarations("a.example.com=label:"); err == nil {
		t.Error("a label without a key is one")
	}
}

// No API group of a built-in type can be declared.
func TestGroupsOfKubernetesAreBuiltIn(t *testing.T) {
	groups := scheme.Scheme.PrioritizedVersionsAllGroups()
	if len(groups) < 20 {
		t.Fatalf("only %d groups", len(groups))
	}
	for _, gv := range groups {
		if !isBuiltIn(gv.Group) {
			t.Errorf("%s can be declared", gv.Group)
		}
	}
	for _, group := range []string{"example.com", "crd.projectcalico.org", "snapshot.storage.k8s.io", "cilium.io"} {
		if isBuiltIn(group) {
			t.Errorf("%s cannot be declared", group)
		}
	}
}

func TestNodeIn(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{"name": "me", "labels": map[string]any{"example.com/node": "me"}},
		"spec":     map[string]any{"node": "me", "list": []any{"me"}, "deep": map[string]any{"node": "me"}},
	}
	for _, tc := range []struct {
		at   Declaration
		want string
	}{
		{Declaration{Field: "metadata.name"}, "me"},
		{Declaration{Field: "spec.node"}, "me"},
		{Declaration{Field: "spec.deep.node"}, "me"},
		{Declaration{Label: "example.com/node"}, "me"},
		{Declaration{Label: "example.com/other"}, ""},
		{Declaration{Field: "spec.none"}, ""},
		{Declaration{Field: "spec.list"}, ""},
		{Declaration{Field: "spec.deep"}, ""},
		{Declaration{Field: "spec.node.deeper"}, ""},
		{Declaration{Field: "status.node"}, ""},
	} {
		if got := tc.at.NodeIn(object); got != tc.want {
			t.Errorf("%+v: got %q", tc.at, got)
		}
		if got := tc.at.NodeIn(nil); got != "" {
			t.Errorf("%+v of nothing: got %q", tc.at, got)
		}
	}
}

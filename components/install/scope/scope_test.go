// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

var must = installtest.Must

func TestScopeObjects(t *testing.T) {
	objects, err := Objects(
		Options{On: true, CustomResources: "widgets.example.com=field:spec.node,\n gadgets.cilium.io=label:a/b"})
	must(t, err)
	var rules []any
	for _, object := range objects {
		if object.GetName() == readerRole && object.GetKind() == "ClusterRole" {
			rules, _, err = unstructured.NestedSlice(object.Object, "rules")
			must(t, err)
		}
	}
	want := []any{
		map[string]any{"apiGroups": []any{"example.com"}, "resources": []any{"widgets"}, "verbs": []any{"get"}},
		map[string]any{"apiGroups": []any{"cilium.io"}, "resources": []any{"gadgets"}, "verbs": []any{"get"}},
	}
	if diff := cmp.Diff(want, rules[min(1, len(rules)):]); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestEntryPrecedesAuthorizersThatCouldAllow reads the file as the API server does.
func TestEntryPrecedesAuthorizersThatCouldAllow(t *testing.T) {
	for profile, want := range map[string][]string{
		manifests.AuthorizationHardened: {"node-authorizer.bulkhead.dev", scopelist.EntryName, "node", "rbac"},
		manifests.AuthorizationParity:   {"node-authorizer.bulkhead.dev", scopelist.EntryName, "rbac"},
	} {
		plain, err := render.HostFile(host.DefaultLayout(), profile)
		must(t, err)
		data, err := withEntry(host.DefaultLayout(), plain)
		must(t, err)
		var got []string
		for line := range strings.Lines(string(data)) {
			if name, found := strings.CutPrefix(line, "    name: "); found {
				got = append(got, strings.TrimSpace(name))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", profile, diff)
		}
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

func TestNodeScopeFlags(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want scope.Options
	}{
		{"no flags: node scope is off", nil, scope.Options{}},
		{"on", []string{"--node-scope"}, scope.Options{On: true}},
		{"on with custom resources",
			[]string{"--node-scope=true", "--node-scope-custom-resources=a.example.com=field:spec.node"},
			scope.Options{On: true, CustomResources: "a.example.com=field:spec.node"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got scope.Options
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			addNodeScopeFlags(fs, &got)
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNodeScopeFlagPrecedence(t *testing.T) {
	const widgets = "widgets.example.com=field:spec.node"
	on := scope.Options{On: true, CustomResources: widgets}
	for _, tc := range []struct {
		name, record string
		profile      controlplane.Profile
		args         []string
		want         scope.Options
	}{
		{"first install without flags", "", controlplane.Hardened, nil, scope.Options{}},
		{"first install, --node-scope", "", controlplane.Hardened, []string{"--node-scope"}, scope.Options{On: true}},
		{"a later run goes on", "on", controlplane.Hardened, nil, on},
		{"a later run in another profile goes on", "on", controlplane.Parity, nil, on},
		{"reinstall repeats the flag", "on", controlplane.Hardened, []string{"--node-scope"}, on},
		{"reinstall, --node-scope=false", "on", controlplane.Hardened, []string{"--node-scope=false"}, scope.Options{}},
		{"a later run forgets the resources", "on", controlplane.Hardened, []string{"--node-scope-custom-resources="},
			scope.Options{On: true}},
		{"a run that removes everything", "on", controlplane.InTree, nil, scope.Options{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got scope.Options
			common := hostFlags{layout: host.DefaultLayout()}
			common.layout.State = t.TempDir()
			if tc.record != "" {
				writeRecord(t, common.layout.State, `{"nodeScope": {"on": true, "customResources": "`+widgets+`"}}`)
			}
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			addNodeScopeFlags(fs, &got)
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			record, err := common.lastRecord()
			if diff := cmp.Diff(tc.want, nodeScope(fs, tc.profile, got, record)); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestStatusCountsTheAccounts(t *testing.T) {
	layout := host.DefaultLayout()
	layout.State = t.TempDir()
	if err := os.MkdirAll(layout.StaticManifests(), 0o700); err != nil {
		t.Fatal(err)
	}
	list := func(kind *scopelist.Kind, manifest, path string, names ...string) {
		t.Helper()
		data, err := manifests.FS.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		var accounts []scopelist.Account
		for _, name := range names {
			accounts = append(accounts, scopelist.Account{Namespace: "ns", Name: name})
		}
		if data, err = scopelist.Replace(kind, data, accounts); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says := func(record controlplane.Record, want string) {
		t.Helper()
		if got := nodeScopeOf(layout, &record); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	on := controlplane.Record{NodeScope: scope.Options{On: true}}
	says(controlplane.Record{}, "off")
	says(on, "on, 0 accounts listed")
	list(scopelist.Authorization, manifests.AuthorizationNodeScope, layout.AuthorizationConfig(), "a", "b")
	says(on, "2 accounts listed for authorization and 0 for admission")
	list(scopelist.Admission, manifests.RegistrationNodeScope, layout.ScopeRegistration(), "a", "b")
	says(on, "on, 2 accounts listed")
	if err := os.WriteFile(filepath.Join(layout.APIServer(), "authorization.yaml"), []byte("name: "+scopelist.EntryName),
		0o600); err != nil {
		t.Fatal(err)
	}
	says(on, "cannot be read")
}

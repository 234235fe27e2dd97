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

	"github.com/bulkhead-k8s/bulkhead/components/install"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

func TestNodeScopeFlags(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want install.NodeScope
	}{
		{"nothing is off", nil, install.NodeScope{}},
		{"on", []string{"--node-scope"}, install.NodeScope{On: true}},
		{"on with custom resources",
			[]string{"--node-scope=true", "--node-scope-custom-resources=a.example.com=field:spec.node"},
			install.NodeScope{On: true, CustomResources: "a.example.com=field:spec.node"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got install.NodeScope
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

func TestWhatWasSaidOfNodeScope(t *testing.T) {
	const widgets = "widgets.example.com=field:spec.node"
	on := install.NodeScope{On: true, CustomResources: widgets}
	for _, tc := range []struct {
		name, record string
		profile      install.Profile
		args         []string
		want         install.NodeScope
	}{
		{"a first run is told nothing", "", install.Hardened, nil, install.NodeScope{}},
		{"a first run is told", "", install.Hardened, []string{"--node-scope"}, install.NodeScope{On: true}},
		{"a later run goes on", "on", install.Hardened, nil, on},
		{"a later run in another profile goes on", "on", install.Parity, nil, on},
		{"a later run says it again", "on", install.Hardened, []string{"--node-scope"}, on},
		{"a later run is told no", "on", install.Hardened, []string{"--node-scope=false"}, install.NodeScope{}},
		{"a later run forgets the resources", "on", install.Hardened, []string{"--node-scope-custom-resources="},
			install.NodeScope{On: true}},
		{"a run that removes everything", "on", install.InTree, nil, install.NodeScope{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got install.NodeScope
			host := hostFlags{layout: install.DefaultLayout()}
			host.layout.State = t.TempDir()
			if tc.record != "" {
				writeRecord(t, host.layout.State, `{"nodeScope": {"on": true, "customResources": "`+widgets+`"}}`)
			}
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			addNodeScopeFlags(fs, &got)
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			got, err := host.nodeScope(fs, tc.profile, got)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestStatusCountsTheAccounts(t *testing.T) {
	layout := install.DefaultLayout()
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
	says := func(record install.Record, want string) {
		t.Helper()
		if got := nodeScopeOf(layout, &record); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	on := install.Record{NodeScope: install.NodeScope{On: true}}
	says(install.Record{}, "off")
	says(on, "on, 0 accounts listed")
	list(scopelist.Authorization, manifests.AuthorizationNodeScope, layout.AuthorizationConfig(), "a", "b")
	says(on, "2 accounts listed in what they ask for and 0 in what they write")
	list(scopelist.Admission, manifests.RegistrationNodeScope, layout.ScopeRegistration(), "a", "b")
	says(on, "on, 2 accounts listed")
	if err := os.WriteFile(filepath.Join(layout.APIServer(), "authorization.yaml"), []byte("name: "+scopelist.EntryName),
		0o600); err != nil {
		t.Fatal(err)
	}
	says(on, "cannot be read")
}

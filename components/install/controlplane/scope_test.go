// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// scoped returns options with node scope.
func scoped(p Profile) Options {
	o := options(p)
	o.NodeScope.On = true
	return o
}

// sync does what scope-sync does: it replaces only the lists.
func (h *testHost) sync(names ...string) {
	h.t.Helper()
	var accounts []scopelist.Account
	for _, name := range names {
		accounts = append(accounts, scopelist.Account{Namespace: "monitoring", Name: name})
	}
	for path, kind := range map[string]*scopelist.Kind{
		h.layout.AuthorizationConfig(): scopelist.Authorization, h.layout.ScopeRegistration(): scopelist.Admission,
	} {
		data, err := scopelist.Replace(kind, read(h.t, path), accounts)
		must(h.t, err)
		must(h.t, os.WriteFile(path, data, 0o600))
	}
}

// holds fails unless both lists have that many accounts and the API server accepts both files.
func (h *testHost) holds(want int) {
	h.t.Helper()
	asking, writing, err := scope.Accounts(h.layout)
	if err != nil || asking != want || writing != want {
		h.t.Errorf("%d accounts are held in what they ask for, and %d in what they write (%v), want %d", asking, writing, err,
			want)
	}
	if err := errors.Join(apiserver.ValidateAuthorization(read(h.t, h.layout.AuthorizationConfig())),
		apiserver.ValidateRegistration(read(h.t, h.layout.ScopeRegistration()))); err != nil {
		h.t.Error(err)
	}
}

func (h *testHost) args(manifest, container string) []string {
	h.t.Helper()
	pod := decode(h.t, read(h.t, manifest))
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			return c.Command
		}
	}
	h.t.Fatalf("%s has no container %s", manifest, container)
	return nil
}

func TestEnableThenDisableNodeScope(t *testing.T) {
	for _, profile := range []Profile{Hardened, Parity} {
		onHost(t, string(profile), func(t *testing.T, h *testHost) {
			never := h.snapshot()
			must(t, h.installer().Install(t.Context(), options(profile)))
			off, starts := h.snapshot(), h.starts
			o := scoped(profile)
			o.NodeScope.CustomResources = "widgets.example.com=field:spec.node"
			must(t, h.installer().Install(t.Context(), o))
			h.holds(0)
			for manifest, name := range map[string]string{h.layout.NodeAuthorizerManifest(): "node-authorizer",
				h.layout.NodeRestrictionManifest(): "node-restriction"} {
				for _, want := range []string{"--node-scope=true",
					"--node-scope-custom-resources=widgets.example.com=field:spec.node"} {
					if args := h.args(manifest, name); !slices.Contains(args, want) {
						t.Errorf("%s has no %s: %v", name, want, args)
					}
				}
			}
			if h.objects["ConfigMap/bulkhead-node-scope"] == nil {
				t.Error("scope-sync has nowhere to write")
			}
			h.sync("a", "b")
			must(t, h.installer().Install(t.Context(), options(profile)))
			h.mustBe(off)
			if got := h.out.String(); !strings.Contains(got, "there were 2") {
				t.Errorf("it does not say what ends:\n%s", got)
			}
			if h.starts != starts {
				t.Error("kube-apiserver restarts for what it reads while it runs")
			}
			must(t, h.installer().Install(t.Context(), o))
			must(t, h.installer().Uninstall(t.Context(), o.Timeout))
			h.mustBe(never)
		})
	}
}

// TestAnInstallationKeepsTheAccounts: an upgrade keeps all accounts that scope-sync has listed.
func TestAnInstallationKeepsTheAccounts(t *testing.T) {
	onHost(t, "the same again", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), scoped(Hardened)))
		h.sync("a", "b", "c")
		h.sync("a", "c")
		before, log := h.snapshot(), len(h.log)
		h.out.Reset()
		must(t, h.installer().Install(t.Context(), scoped(Hardened)))
		h.mustBe(before)
		h.holds(2)
		if !strings.Contains(h.out.String(), "Nothing had to be changed") || len(h.log) != log {
			t.Errorf("it restarts %v and says:\n%s", h.log[log:], &h.out)
		}
		h.out.Reset()
		must(t, h.installer().DryRun(t.Context(), scoped(Hardened)))
		if strings.Contains(h.out.String(), "would") {
			t.Errorf("a dry run says:\n%s", &h.out)
		}
	})
	onHost(t, "another profile and image", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), scoped(Parity)))
		h.sync("a", "b")
		o := scoped(Hardened)
		o.Image = "example.test/bulkhead:2"
		must(t, h.installer().Install(t.Context(), o))
		h.holds(2)
		if !bytes.Contains(read(t, h.layout.AuthorizationConfig()), []byte("- type: Node\n")) {
			t.Error("it is not the new profile's file")
		}
	})
	onHost(t, "a run that fails and is taken back", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), scoped(Hardened)))
		h.sync("a", "b")
		before := h.snapshot()
		h.kubeadmBroken = true
		if err := h.installer().Install(t.Context(), scoped(Parity)); err == nil {
			t.Error("it succeeds")
		}
		h.mustBe(before)
	})
	onHost(t, "an account that is listed while it runs", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), scoped(Hardened)))
		p := h.begin(scoped(Hardened))
		h.sync("late")
		_, err := p.transaction(p.Timeout).Apply(t.Context(), p.journal, p.steps())
		must(t, err)
		h.holds(1)
	})
	onHost(t, "a list that nobody can read", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), scoped(Hardened)))
		h.sync("a")
		file := h.layout.AuthorizationConfig()
		must(t, os.WriteFile(file,
			bytes.ReplaceAll(read(t, file), []byte("'system:serviceaccount:monitoring:a'"), []byte("'a' + 'b'")), 0o600))
		before := h.snapshot()
		mentions(t, h.installer().Install(t.Context(), scoped(Hardened)), "repair the file first")
		h.mustBe(before)
	})
}

func TestNodeScopeIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name     string
		spoil    func(*testHost, *Options)
		mentions string
	}{
		{"where webhooks can be removed through the API", func(h *testHost, _ *Options) { h.version = "v1.35.0" },
			"takes no webhooks from disk"},
		{"without any component", func(_ *testHost, o *Options) { o.Profile = InTree },
			"does not support node scope"},
		{"with invalid custom resources",
			func(_ *testHost, o *Options) { o.NodeScope.CustomResources = "pods=field:a" }, "--node-scope-custom-resources"},
		{"with custom resources and without itself", func(_ *testHost, o *Options) {
			o.NodeScope = scope.Options{CustomResources: "widgets.example.com=field:spec.node"}
		}, "without --node-scope"},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			o := scoped(Hardened)
			tc.spoil(h, &o)
			before := h.snapshot()
			mentions(t, h.installer().Install(t.Context(), o), tc.mentions)
			h.mustBe(before)
		})
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
)

// ignoring returns the options of an installation with failure policy Ignore.
func ignoring() Options { return said(Extensions{IgnoreFailures: true}) }

func TestFailurePolicyFromDisk(t *testing.T) {
	onHost(t, "Fail, Ignore, and back", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.installer().Install(t.Context(), said(Extensions{})))
		h.hasFailurePolicy("Fail")
		first := h.snapshot()
		h.log = nil
		must(t, h.installer().Install(t.Context(), ignoring()))
		h.hasFailurePolicy("Ignore")
		second := h.snapshot()
		must(t, h.installer().Install(t.Context(), ignoring()))
		h.mustBe(second)
		must(t, h.installer().Install(t.Context(), said(Extensions{})))
		h.hasFailurePolicy("Fail")
		h.mustBe(first)
		if len(h.log) > 0 {
			t.Errorf("the choice restarts %v", h.log)
		}
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		h.mustBe(before)
	})
	onHost(t, "Ignore stays behind mode audit", func(t *testing.T, h *testHost) {
		must(t, h.withKubelets(nil).Install(t.Context(), said(Extensions{IgnoreFailures: true, AuditOnly: true})))
		h.auditsOnly(true)
		must(t, h.withKubelets(nil).Install(t.Context(), ignoring()))
		h.hasFailurePolicy("Ignore")
	})
	onHost(t, "profile parity becomes hardened with Ignore", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), options(Parity)))
		h.unchecked = false
		must(t, h.installer().Install(t.Context(), ignoring()))
		h.hasFailurePolicy("Ignore")
		if h.unchecked {
			t.Error("leases were not checked for a while")
		}
	})
	onHost(t, "a run that fails restores Fail", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), said(Extensions{})))
		before := h.snapshot()
		h.refusesAll = true
		mentions(t, h.installer().Install(t.Context(), ignoring()), "rolled back")
		h.mustBe(before)
	})
}

// A server that cannot call node-restriction admits every write under Ignore. Nothing would be
// enforced, so the installation fails as it does under Fail.
func TestInstallationFailsIfNodeRestrictionCannotBeCalled(t *testing.T) {
	for _, version := range []string{"v1.36.2", "v1.37.1"} {
		for _, ignore := range []bool{false, true} {
			onHost(t, fmt.Sprintf("server %s, ignore %v", version, ignore), func(t *testing.T, h *testHost) {
				h.version = version
				before := h.snapshot()
				h.uncallable = true
				want := "failed calling webhook"
				if ignore {
					want = "kube-apiserver cannot call node-restriction"
				}
				mentions(t, h.installer().Install(t.Context(), said(Extensions{IgnoreFailures: ignore})), want)
				h.mustBe(before)
			})
		}
	}
}

func TestFailurePolicyInTheAPI(t *testing.T) {
	onHost(t, "Fail, Ignore, and back", func(t *testing.T, h *testHost) {
		h.version = "v1.36.2"
		for _, want := range []string{"Fail", "Ignore", "Fail"} {
			must(t, h.installer().Install(t.Context(), said(Extensions{IgnoreFailures: want == "Ignore"})))
			webhooks, _ := h.objects[registrationKey].Object["webhooks"].([]any)
			webhook, _ := webhooks[0].(map[string]any)
			if webhook["failurePolicy"] != want {
				t.Errorf("failurePolicy %v, want %s", webhook["failurePolicy"], want)
			}
		}
	})
}

// A scoped account has no floor in-tree. An outage must not give it more rights.
func TestFailurePolicyOfScopedAccountsStays(t *testing.T) {
	for _, tc := range []struct {
		name          string
		ignore, audit bool
		wantOpen      bool
	}{
		{"Fail: denied", false, false, false},
		{"Ignore: denied", true, false, false},
		{"Ignore and mode audit: admitted", true, true, true},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			o := said(Extensions{IgnoreFailures: tc.ignore, AuditOnly: tc.audit})
			o.NodeScope.On = true
			must(t, h.installer().Install(t.Context(), o))
			authorization := string(read(t, h.layout.AuthorizationConfig()))
			admission := string(read(t, h.layout.ScopeRegistration()))
			if open := !strings.Contains(authorization, "failurePolicy: Deny"); open != tc.wantOpen {
				t.Errorf("authorization:\n%s", authorization)
			}
			if open := !strings.Contains(admission, "failurePolicy: Fail"); open != tc.wantOpen {
				t.Errorf("admission:\n%s", admission)
			}
		})
	}
}

func TestFailurePolicyIgnoreNeedsTheFloor(t *testing.T) {
	onHost(t, "parity with Fail is installed, with Ignore is not", func(t *testing.T, h *testHost) {
		o := options(Parity)
		must(t, h.installer().Install(t.Context(), o))
		before := h.snapshot()
		o.Extensions.IgnoreFailures = true
		for _, run := range []func() error{
			func() error { return h.installer().Install(t.Context(), o) },
			func() error { return h.installer().DryRun(t.Context(), o) },
		} {
			mentions(t, run(), "--node-restriction-failure-policy=Ignore needs --profile=hardened")
		}
		h.mustBe(before)
	})
}

func TestDryRunAfterTheSameInstallation(t *testing.T) {
	for name, extensions := range map[string]Extensions{
		"failure policy Fail": {}, "failure policy Ignore": {IgnoreFailures: true}, "mode audit": {AuditOnly: true},
	} {
		onHost(t, name, func(t *testing.T, h *testHost) {
			o := said(extensions)
			o.NodeScope.On = true
			must(t, h.installer().Install(t.Context(), o))
			h.out.Reset()
			must(t, h.installer().DryRun(t.Context(), o))
			if got := h.out.String(); strings.Contains(got, "would") {
				t.Errorf("it says:\n%s", got)
			}
		})
	}
}

func TestUnknownResourcesInTheStaticPod(t *testing.T) {
	for name, deny := range map[string]bool{"deny": true, "audit-on-newer-kubernetes": false} {
		onHost(t, name, func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), said(Extensions{DenyUnknown: deny})))
			manifest := string(read(t, h.layout.NodeAuthorizerManifest()))
			// An older node-authorizer has no such flag. So the default leaves it out.
			if has := strings.Contains(manifest, "--unknown-resources=deny"); has != deny ||
				strings.Count(manifest, "--unknown-resources") > 1 || !deny && strings.Contains(manifest, "unknown-resources") {
				t.Errorf("manifest:\n%s", manifest)
			}
		})
	}
}

// hasFailurePolicy checks node-restriction's webhook, and that in-tree NodeRestriction runs.
func (h *testHost) hasFailurePolicy(want string) {
	h.t.Helper()
	registration := read(h.t, h.layout.Registration())
	if strings.Count(string(registration), "failurePolicy:") != 1 ||
		!strings.Contains(string(registration), "failurePolicy: "+want+"\n") {
		h.t.Errorf("want %s:\n%s", want, registration)
	}
	if err := apiserver.ValidateRegistration(registration); err != nil {
		h.t.Error(err)
	}
	if plugins, _ := h.server().Arg("enable-admission-plugins"); !strings.Contains(plugins, "NodeRestriction") {
		h.t.Errorf("--enable-admission-plugins=%s", plugins)
	}
	record, err := ReadRecord(h.layout)
	must(h.t, err)
	if policy, _, _ := strings.Cut(record.Extensions.FailurePolicy(), ":"); policy != want {
		h.t.Errorf("status shows %q, want %s", record.Extensions.FailurePolicy(), want)
	}
}

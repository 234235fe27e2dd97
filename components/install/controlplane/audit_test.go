// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
)

// auditing returns the options of an installation that only audits.
func auditing() Options { return said(Extensions{AuditOnly: true}) }

func TestAuditModeDeniesNothing(t *testing.T) {
	onHost(t, "from nothing, to enforce, and back", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		must(t, h.withKubelets(nil).Install(t.Context(), auditing()))
		for _, want := range []string{"Mode audit: ", "bulkhead audit -o installation >enforce.yaml",
			"bulkhead install --config=enforce.yaml"} {
			if !strings.Contains(h.out.String(), want) {
				t.Errorf("want %q in the output:\n%s", want, &h.out)
			}
		}
		h.auditsOnly(true)
		first := h.snapshot()
		must(t, h.withKubelets(nil).Install(t.Context(), auditing()))
		h.mustBe(first)
		must(t, h.withKubelets(nil).Install(t.Context(), said(Extensions{})))
		h.auditsOnly(false)
		must(t, h.withKubelets(nil).Install(t.Context(), auditing()))
		h.auditsOnly(true)
		must(t, h.installer().Uninstall(t.Context(), options(Hardened).Timeout))
		h.mustBe(before)
	})
	onHost(t, "a rule that the user enforces is audited too", func(t *testing.T, h *testHost) {
		o := auditing()
		o.Extensions.Mode, o.Extensions.RuleModes = "enforce", map[string]string{"KA-EXEC-1": "enforce"}
		must(t, h.withKubelets(nil).Install(t.Context(), o))
		h.auditsOnly(true)
	})
	onHost(t, "kube-apiserver accepts any kubelet's certificate", func(t *testing.T, h *testHost) {
		must(t, h.withKubelets(nil).Install(t.Context(), auditing()))
		if h.demands() {
			t.Error("kube-apiserver requires certificates of the cluster")
		}
	})
	onHost(t, "kubelets without a certificate do not matter", func(t *testing.T, h *testHost) {
		must(t, h.withKubelets(errors.New("away")).Install(t.Context(), auditing()))
		h.auditsOnly(true)
	})
	onHost(t, "profile parity has no such mode", func(t *testing.T, h *testHost) {
		before := h.snapshot()
		o := auditing()
		o.Profile = Parity
		mentions(t, h.installer().Install(t.Context(), o), "--mode=audit needs --profile=hardened")
		h.mustBe(before)
	})
}

func TestAuditModeWithWebhooksInTheAPI(t *testing.T) {
	onHost(t, "their failures are ignored", func(t *testing.T, h *testHost) {
		h.version = "v1.36.2"
		for _, audit := range []bool{true, false} {
			must(t, h.installer().Install(t.Context(), said(Extensions{AuditOnly: audit})))
			webhooks, _ := h.objects[registrationKey].Object["webhooks"].([]any)
			webhook, _ := webhooks[0].(map[string]any)
			if got := webhook["failurePolicy"] == "Ignore"; got != audit {
				t.Errorf("audit %v: failurePolicy %v", audit, webhook["failurePolicy"])
			}
		}
	})
}

func TestTokensStayExtended(t *testing.T) {
	onHost(t, "if the user wants it", func(t *testing.T, h *testHost) {
		for _, extend := range []bool{true, false} {
			must(t, h.installer().Install(t.Context(), said(Extensions{ExtendTokens: extend})))
			if got := !h.hasServerFlag("service-account-extend-token-expiration"); got != extend {
				t.Errorf("want extended %v, got %v", extend, got)
			}
		}
	})
}

func (h *testHost) hasServerFlag(name string) bool {
	h.t.Helper()
	server, err := apiserver.Parse(read(h.t, h.layout.APIServerManifest()))
	must(h.t, err)
	_, has := server.Arg(name)
	return has
}

// auditsOnly checks everything that could deny a request.
func (h *testHost) auditsOnly(want bool) {
	h.t.Helper()
	for _, manifest := range []string{h.layout.NodeAuthorizerManifest(), h.layout.NodeRestrictionManifest()} {
		if got := strings.Contains(string(read(h.t, manifest)), "--audit-only=true"); got != want {
			h.t.Errorf("%s: audits only %v, want %v", manifest, got, want)
		}
	}
	if got := strings.Contains(string(read(h.t, h.layout.Registration())), "failurePolicy: Ignore"); got != want {
		h.t.Errorf("the webhook's failures are ignored: %v, want %v", got, want)
	}
	if got := h.hasServerFlag("service-account-extend-token-expiration"); got == want {
		h.t.Errorf("kube-apiserver has exact tokens: %v", got)
	}
	if policy := string(read(h.t, h.layout.KubeletPolicy())); strings.Contains(policy, `["Deny"]`) == want {
		h.t.Errorf("the policy for nodes/proxy is\n%s", policy)
	}
	if got := slices.Contains(h.proxyFlagsOf(), "--audit-only=true"); got != want {
		h.t.Errorf("kubelet-auth-proxy audits only: %v, want %v", got, want)
	}
	for _, flag := range h.proxyFlagsOf() {
		if flag == "--mode=strict" == want || want && strings.Contains(flag, "=enforce") {
			h.t.Errorf("kubelet-auth-proxy has %s", flag)
		}
	}
}

// Accounts keep their scope when the mode changes. Failures of their webhooks must not deny either.
func TestAuditModeKeepsScopedAccounts(t *testing.T) {
	onHost(t, "from enforce to audit and back", func(t *testing.T, h *testHost) {
		for _, audit := range []bool{false, true, false} {
			o := said(Extensions{AuditOnly: audit})
			o.NodeScope.On = true
			must(t, h.installer().Install(t.Context(), o))
			if !audit {
				h.sync("agent")
			}
			h.holds(1)
			authorization := string(read(t, h.layout.AuthorizationConfig()))
			admission := string(read(t, h.layout.ScopeRegistration()))
			if strings.Contains(authorization, "failurePolicy: Deny") == audit ||
				strings.Contains(admission, "failurePolicy: Fail") == audit {
				t.Errorf("audit %v:\n%s\n%s", audit, authorization, admission)
			}
		}
	})
}

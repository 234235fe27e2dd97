// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

// proxyFlagsOf returns the flags in the DaemonSet that depend on the modes.
func (h *testHost) proxyFlagsOf() []string {
	h.t.Helper()
	containers, _, err := unstructured.NestedSlice(h.objects["DaemonSet/bulkhead-kubelet-auth-proxy"].Object,
		containersPath...)
	must(h.t, err)
	container, _ := containers[0].(map[string]any)
	command, _, err := unstructured.NestedStringSlice(container, "command")
	must(h.t, err)
	return slices.DeleteFunc(command, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return !slices.Contains([]string{"--mode", "--rule-mode", "--audit-only"}, name)
	})
}

// said returns options in which the user has just set rule modes.
func said(b Extensions) Options {
	o := options(Hardened)
	o.Extensions, o.ExtensionsSet = b, true
	return o
}

// audited returns all optional rules of the proxy in mode audit, except those in others.
func audited(others map[string]string) string {
	modes := map[string]string{}
	for _, r := range kubeletauth.Rules {
		if r.Optional && r.ID != kubeletauth.RuleVAP {
			modes[string(r.ID)] = "audit"
		}
	}
	maps.Copy(modes, others)
	return "--rule-mode=" + strings.Join(Extensions{RuleModes: modes}.pairs(), ",")
}

func TestProxiesGetTheModesOfTheirRules(t *testing.T) {
	for _, tc := range []struct {
		name   string
		beyond Extensions
		want   []string
	}{
		{"no modes chosen", Extensions{}, []string{"--mode=strict"}},
		{"all are enforced", Extensions{Mode: "enforce"}, []string{"--mode=strict"}},
		{"all are off", Extensions{Mode: "off"}, []string{"--mode=compat"}},
		{"all are audited", Extensions{Mode: "audit"}, []string{"--mode=compat", audited(nil)}},
		{"all are audited but one", Extensions{Mode: "audit", RuleModes: map[string]string{"KA-EXEC-1": "enforce"}},
			[]string{"--mode=compat", audited(map[string]string{"KA-EXEC-1": "enforce"})}},
		{"one is audited", Extensions{RuleModes: map[string]string{"KA-EXEC-1": "audit"}},
			[]string{"--mode=strict", "--rule-mode=KA-EXEC-1=audit"}},
		{"some are, and others of other components",
			Extensions{RuleModes: map[string]string{"KA-RUN-1": "off", "KA-AUD-1": "enforce", "NA-CSR-1": "off",
				"NR-EVENT-1": "audit"}}, []string{"--mode=strict", "--rule-mode=KA-AUD-1=enforce,KA-RUN-1=off"}},
		{"one that is the API server's", Extensions{RuleModes: map[string]string{"KA-VAP-1": "off"}},
			[]string{"--mode=strict"}},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			must(t, h.installer().Install(t.Context(), said(tc.beyond)))
			if diff := cmp.Diff(tc.want, h.proxyFlagsOf()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// All hosts share the DaemonSet. An installation in which the user sets no modes does not change
// it.
func TestTheModesOfTheProxiesAreTheClusters(t *testing.T) {
	onHost(t, "said on another host, not said here, and said here", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), said(Extensions{RuleModes: map[string]string{"KA-EXEC-1": "audit"}})))
		for _, unsaid := range []Extensions{{}, {Mode: "audit"}, {RuleModes: map[string]string{"KA-RUN-1": "off"}}} {
			o := options(Hardened)
			o.Extensions, o.Image = unsaid, "example.test/bulkhead:2"
			must(t, h.installer().Install(t.Context(), o))
			if diff := cmp.Diff([]string{"--mode=strict", "--rule-mode=KA-EXEC-1=audit"}, h.proxyFlagsOf()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}
		must(t, h.installer().Install(t.Context(), said(Extensions{})))
		if diff := cmp.Diff([]string{"--mode=strict"}, h.proxyFlagsOf()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestModesOfKubeletRulesAreChecked(t *testing.T) {
	for _, tc := range []struct {
		id, mode string
		mentions string
	}{
		{"KA-EXEC-1", "audit", ""},
		{"KA-VAP-1", "off", ""},
		{"KA-AUD-1", "enforce", ""},
		{"KA-EXEC-1", "on", `invalid mode "on"`},
		{"KA-AUTH-1", "off", "KA-AUTH-1 is always enforced"},
		{"KA-NONE-1", "off", `there is no rule "KA-NONE-1"`},
	} {
		err := Extensions{RuleModes: map[string]string{tc.id: tc.mode}}.Validate()
		if tc.mentions == "" {
			if err != nil {
				t.Errorf("%s=%s: %v", tc.id, tc.mode, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "--rule-mode: ") || !strings.Contains(err.Error(), tc.mentions) {
			t.Errorf("%s=%s: %v, want %q", tc.id, tc.mode, err, tc.mentions)
		}
		if tc.mode == "off" && !strings.Contains(err.Error(), "KA-EXEC-1, ") {
			t.Errorf("%s: it does not name those that are known: %v", tc.id, err)
		}
	}
}

func TestFlagsOfTheProxiesAreThoseOfTheUser(t *testing.T) {
	const flag = "authorization-webhook-cache-authorized-ttl"
	command := func(h *testHost) string {
		containers, _, err := unstructured.NestedSlice(h.objects["DaemonSet/bulkhead-kubelet-auth-proxy"].Object,
			containersPath...)
		must(h.t, err)
		container, _ := containers[0].(map[string]any)
		args, _, err := unstructured.NestedStringSlice(container, "command")
		must(h.t, err)
		return strings.Join(args, " ") + " "
	}
	onHost(t, "set, kept by a run without flags, and reset", func(t *testing.T, h *testHost) {
		must(t, h.installer().Install(t.Context(), said(Extensions{ProxyFlags: map[string]string{flag: "1m0s"}})))
		o := options(Hardened)
		for _, step := range []struct {
			name string
			o    Options
			has  bool
		}{{"after the first run", o, true}, {"after a reset", said(Extensions{}), false}} {
			must(t, h.installer().Install(t.Context(), step.o))
			if got := strings.Contains(command(h), " --"+flag+"=1m0s "); got != step.has {
				t.Errorf("%s: the proxy has the flag: %v, want %v", step.name, got, step.has)
			}
		}
	})
}

func TestFlagsOfTheProxiesAreChecked(t *testing.T) {
	for _, tc := range []struct{ name, flag, value, want string }{
		{"cache time", "authentication-token-webhook-cache-ttl", "0s", ""},
		{"negative cache time", "authentication-token-webhook-cache-ttl", "-1s", "want 0 or more"},
		{"no duration", "authorization-webhook-cache-authorized-ttl", "1", "missing unit"},
		{"idle time of streams", "streaming-connection-idle-timeout", "1s", ""},
		{"idle time of 0", "streaming-connection-idle-timeout", "0s", "want more than 0"},
		{"expired revocation lists", "client-crl-expired", "refuse", ""},
		{"expired revocation lists, no such decision", "client-crl-expired", "deny", `"deny", want refuse or allow`},
		{"no tokens", "authentication-token-webhook", "false", ""},
		{"flag of the installation", "client-ca-file", "/tmp/ca.crt", `"client-ca-file" cannot be set`},
		{"flag that accepts anonymous requests", "anonymous-auth", "true", `"anonymous-auth" cannot be set`},
		{"flag that allows all", "authorization-mode", "AlwaysAllow", `"authorization-mode" cannot be set`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := Extensions{ProxyFlags: map[string]string{tc.flag: tc.value}}.Validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestModeAuditNeedsTokens(t *testing.T) {
	tokens := func(value string) map[string]string {
		return map[string]string{"authentication-token-webhook": value}
	}
	for _, tc := range []struct {
		name    string
		audit   bool
		flags   map[string]string
		kubelet *bool
		refused bool
	}{
		{"no tokens, mode audit: refused", true, tokens("false"), nil, true},
		{"no tokens written as 0, mode audit: refused", true, tokens("0"), nil, true},
		{"no tokens, mode enforce", false, tokens("false"), nil, false},
		{"tokens, mode audit", true, tokens("true"), nil, false},
		{"unset, mode audit", true, nil, nil, false},
		{"no tokens, mode audit without kubelet-auth-proxy", true, tokens("false"), new(false), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := said(Extensions{AuditOnly: tc.audit, ProxyFlags: tc.flags})
			o.KubeletAPI = tc.kubelet
			err := o.validate()
			if (err != nil) != tc.refused {
				t.Errorf("got %v, refused: want %v", err, tc.refused)
			}
			if tc.refused {
				mentions(t, err, "--mode=audit does not allow --kubelet-auth-proxy-flags=authentication-token-webhook=false")
			}
		})
	}
}

func TestExpiredRevocationLists(t *testing.T) {
	for _, tc := range []struct {
		name  string
		audit bool
		set   string
		// want is the decision, and flag the value of the proxy's flag, empty if it is not set.
		want, flag string
	}{
		{"unset, mode enforce: the proxy's default", false, "", "refuse", ""},
		{"unset, mode audit: allow", true, "", "allow", "allow"},
		{"refuse, mode audit: refuse", true, "refuse", "refuse", "refuse"},
		{"allow, mode enforce: allow", false, "allow", "allow", "allow"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := Extensions{AuditOnly: tc.audit}
			if tc.set != "" {
				b.ProxyFlags = map[string]string{"client-crl-expired": tc.set}
			}
			values, err := b.proxyModes()
			must(t, err)
			if got := b.ExpiredRevocationLists(); got != tc.want || values["client-crl-expired"] != tc.flag {
				t.Errorf("got %q and flag %q, want %q and %q", got, values["client-crl-expired"], tc.want, tc.flag)
			}
		})
	}
}

func TestStreamIdleTimeout(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 4 * time.Hour, "12h": 12 * time.Hour, "long": 4 * time.Hour} {
		b := Extensions{ProxyFlags: map[string]string{"streaming-connection-idle-timeout": value}}
		if got := b.StreamIdleTimeout(); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}

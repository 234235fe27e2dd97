// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authz"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/crl"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/proxy"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// These flags of kubelet-auth-proxy have a meaning for the installer.
const (
	tokenFlag   = "authentication-token-webhook"
	expiredFlag = "client-crl-expired"
	idleFlag    = "streaming-connection-idle-timeout"
)

// settableProxyFlags are the flags of kubelet-auth-proxy that the user may set. The others belong to
// the installation, or could open the kubelets' API: --anonymous-auth and --authorization-mode.
var settableProxyFlags = []string{
	tokenFlag, "authentication-token-webhook-cache-ttl",
	"authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl",
	expiredFlag, idleFlag,
}

// proxyFlags are the flags of kubelet-auth-proxy that depend on the options. One DaemonSet has them,
// so all nodes and all control-plane hosts share them.
var proxyFlags = append([]string{"mode", "rule-mode", "audit-only"}, settableProxyFlags...)

// validateProxyFlags checks the values as kubelet-auth-proxy does.
func (b Extensions) validateProxyFlags() []error {
	who, may := authn.DefaultOptions(), authz.DefaultOptions()
	// The installation always sets the CA.
	who.ClientCAFile = "ca.crt"
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	who.AddFlags(fs)
	may.AddFlags(fs)
	idle := fs.Duration(idleFlag, time.Hour, "")
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(b.ProxyFlags)) {
		if !slices.Contains(settableProxyFlags, name) {
			problems = append(problems, fmt.Errorf("%q cannot be set: only %s", name, strings.Join(settableProxyFlags, ", ")))
			continue
		}
		if err := fs.Set(name, b.ProxyFlags[name]); err != nil {
			problems = append(problems, err)
		}
	}
	if *idle <= 0 {
		problems = append(problems, fmt.Errorf("--%s is %v, want more than 0", idleFlag, *idle))
	}
	return slices.Concat(problems, who.Validate(), may.Validate())
}

// proxyModes returns the values of [proxyFlags]. An absent or empty value means that the flag is not
// set.
//
// If all rules are off or in audit, every answer must be the same as the kubelet's own. That is
// mode compat, plus the rules in audit.
func (b Extensions) proxyModes() (map[string]string, error) {
	b = b.audited()
	all, err := rules.ParseMode(b.modeOfAll())
	if err != nil {
		return nil, err
	}
	modes := map[string]string{}
	if all == rules.Audit {
		for id, mode := range rules.Modes(kubeletauth.Rules, all) {
			modes[string(id)] = mode.String()
		}
	}
	for _, pair := range b.pairsOf(kubeletRules) {
		id, mode, _ := strings.Cut(pair, "=")
		modes[id] = mode
	}
	// This rule belongs to the API server, not to the proxy.
	delete(modes, string(kubeletauth.RuleVAP))
	mode := kubeletauth.Compat
	if all == rules.Enforce {
		mode = kubeletauth.Strict
	}
	pairs := Extensions{RuleModes: modes}.pairs()
	values := map[string]string{"mode": mode.String(), "rule-mode": strings.Join(pairs, ",")}
	maps.Copy(values, b.ProxyFlags)
	if b.AuditOnly {
		values["audit-only"] = "true"
		values[expiredFlag] = b.ExpiredRevocationLists()
	}
	return values, nil
}

// ExpiredRevocationLists returns the decision for certificates of a CA whose revocation list has
// expired: the setting, or its default. In mode audit, the default is allow: a kubelet reads no lists,
// so it allowed these certificates.
func (b Extensions) ExpiredRevocationLists() string {
	otherwise := crl.Refuse
	if b.AuditOnly {
		otherwise = crl.Allow
	}
	return cmp.Or(b.ProxyFlags[expiredFlag], otherwise)
}

// StreamIdleTimeout returns how long kubelet-auth-proxy keeps an idle stream. It ignores an invalid
// setting, which Validate reports.
func (b Extensions) StreamIdleTimeout() time.Duration {
	if idle, err := time.ParseDuration(b.ProxyFlags[idleFlag]); err == nil {
		return idle
	}
	return proxy.DefaultLimits().StreamIdle
}

// deniesTokens reports whether kubelet-auth-proxy answers every token with 401.
func (b Extensions) deniesTokens() bool {
	accepts, err := strconv.ParseBool(b.ProxyFlags[tokenFlag])
	return err == nil && !accepts
}

// audited returns the settings with which no optional rule is enforced, if the installation only
// audits. The flag --audit-only of kubelet-auth-proxy is only for the rules without a mode.
func (b Extensions) audited() Extensions {
	if !b.AuditOnly {
		return b
	}
	b.Mode, b.RuleModes = rules.Audit.String(), maps.Clone(b.RuleModes)
	for id, mode := range b.RuleModes {
		if mode == rules.Enforce.String() {
			b.RuleModes[id] = rules.Audit.String()
		}
	}
	return b
}

// modeOfAll returns the mode of all optional rules in a cluster with kubelet-auth-proxy. Only the
// profile hardened has the proxy, so its default applies.
func (b Extensions) modeOfAll() string {
	if b.Mode != "" {
		return b.Mode
	}
	return Hardened.ExtensionMode().String()
}

// policyMode returns the mode of the policy for nodes/proxy.
func (b Extensions) policyMode() (rules.Mode, error) {
	b = b.audited()
	all, err := rules.ParseMode(b.modeOfAll())
	if err != nil {
		return rules.Off, err
	}
	modes, problems := rules.ParseModes(kubeletauth.Rules, all, onlyOf(b.RuleModes, kubeletRules))
	if len(problems) > 0 {
		return rules.Off, fmt.Errorf("--rule-mode: %w", problems[0])
	}
	return modes[kubeletauth.RuleVAP], nil
}

func onlyOf(modes map[string]string, prefix string) map[string]string {
	own := maps.Clone(modes)
	maps.DeleteFunc(own, func(id, _ string) bool { return !strings.HasPrefix(id, prefix) })
	return own
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"maps"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// proxyFlags are the flags of kubelet-auth-proxy for rule modes. One DaemonSet has them, so all
// nodes and all control-plane hosts share them.
var proxyFlags = []string{"mode", "rule-mode"}

// proxyModes returns the values of [proxyFlags]. An empty value means that the flag is not set.
//
// If all rules are off or in audit, every answer must be the same as the kubelet's own. That is
// mode compat, plus the rules in audit.
func (b Extensions) proxyModes() (map[string]string, error) {
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
	return map[string]string{"mode": mode.String(), "rule-mode": strings.Join(pairs, ",")}, nil
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

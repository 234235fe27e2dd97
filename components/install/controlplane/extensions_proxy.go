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

// proxyFlags are the flags of kubelet-auth-proxy that say which rules hold. The API
// holds them for all nodes and for all control-plane hosts, in one DaemonSet.
var proxyFlags = []string{"mode", "rule-mode"}

// proxyModes are the values of [proxyFlags]; an empty one leaves the flag out.
//
// Where all rules are off or audited, no answer is another one than the kubelet's own:
// that is compat, with what is audited on top.
func (b Beyond) proxyModes() (map[string]string, error) {
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
	// Not the proxy's: the API server itself has it.
	delete(modes, string(kubeletauth.RuleVAP))
	mode := kubeletauth.Compat
	if all == rules.Enforce {
		mode = kubeletauth.Strict
	}
	return map[string]string{"mode": mode.String(), "rule-mode": strings.Join(Beyond{RuleModes: modes}.pairs(), ",")}, nil
}

// modeOfAll is what a guarded cluster has of optional rules: only Hardened guards.
func (b Beyond) modeOfAll() string {
	if b.Mode != "" {
		return b.Mode
	}
	return Hardened.BeyondUpstream().String()
}

// policyMode is what the policy about nodes/proxy does.
func (b Beyond) policyMode() (rules.Mode, error) {
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

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package rulebook knows all rules of all components, and what an operator asks about one: its mode
// in a profile and in a cluster, what it needs, what allows an exception, and which specs test it.
package rulebook

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	scopeadmission "github.com/bulkhead-k8s/bulkhead/components/nodescope/admission"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Components maps the prefix of a rule ID to the component's name.
var Components = map[string]string{"NA": "Node authorizer", "NR": "NodeRestriction", "KA": "Kubelet API",
	"NS": "Node scope"}

var all = slices.Concat(nodeauthorizer.Rules, noderestriction.Rules, kubeletauth.Rules, nodescope.Rules,
	scopeadmission.Rules)

// All returns the rules of all components.
func All() []rules.Rule { return slices.Clone(all) }

// Find returns the rule with that ID.
func Find(id rules.ID) (rules.Rule, bool) { return rules.Find(all, id) }

// Match returns the rules whose ID matches the pattern. It ignores letter case. * is any text. If the
// pattern has no * and is not an ID, it matches all IDs that begin with it and a dash. Match returns an
// error if no ID matches.
func Match(pattern string) ([]rules.Rule, error) {
	pattern = strings.ToUpper(strings.TrimSpace(pattern))
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return nil, fmt.Errorf("invalid pattern %q: use an ID, or letters and *, for example 'NR-LABEL-*'", pattern)
	}
	if r, ok := Find(rules.ID(pattern)); ok {
		return []rules.Rule{r}, nil
	}
	matching := slices.DeleteFunc(All(), func(r rules.Rule) bool {
		matches, _ := path.Match(pattern, string(r.ID))
		return !matches && !strings.HasPrefix(string(r.ID), strings.TrimSuffix(pattern, "-")+"-")
	})
	if len(matching) == 0 {
		return nil, fmt.Errorf("cannot find a rule %q: %w", pattern, errNoRule)
	}
	return matching, nil
}

var errNoRule = errors.New("this version of bulkhead has no such rule; `bulkhead rules` prints all")

// DefaultIn returns the mode of a rule in a profile if no flag sets it.
func DefaultIn(p controlplane.Profile, r rules.Rule) string {
	return modeIn(p, controlplane.Extensions{}, r)
}

// modeIn returns the mode of a rule with the user's settings.
func modeIn(p controlplane.Profile, set controlplane.Extensions, r rules.Rule) string {
	switch {
	case strings.HasPrefix(string(r.ID), "NS-"):
		return "with node scope"
	case strings.HasPrefix(string(r.ID), "KA-") && p == controlplane.Parity && !r.Optional:
		return "no proxy"
	case r.Configured && p == controlplane.Parity:
		return "no configuration"
	case r.Configured && set.Modes(p)[r.ID] == rules.Enforce:
		return "as configured"
	case r.HasMode():
		return set.Modes(p)[r.ID].String()
	}
	return "always"
}

// Needs returns what must be installed or configured for the rule, in words. It is empty for a rule
// that needs nothing.
func Needs(r rules.Rule) string {
	id := string(r.ID)
	switch {
	case r.ID == kubeletauth.RuleCSR:
		return "kubelet-csr-approver (bulkhead install in profile hardened)"
	case r.ID == kubeletauth.RuleVAP:
		return "the policies of kubelet-auth-proxy in kube-apiserver, and kubelet-auth-proxy on the node"
	case strings.HasPrefix(id, "NS-"):
		return "node scope (bulkhead install --node-scope), and a scope on the ServiceAccount"
	case strings.HasPrefix(id, "KA-"):
		return "kubelet-auth-proxy on the node"
	case r.Configured:
		return "a policy of node-restriction (nodePolicy in the Installation)"
	}
	return ""
}

// Exception returns what an administrator can change so that the rule allows more.
func Exception(id rules.ID) auditreport.Setting {
	return auditreport.SettingOf(auditreport.Finding{Rule: id})
}

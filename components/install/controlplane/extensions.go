// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Beyond is what a person has decided about the rules that upstream does not have.
// What is zero was left to the profile and to the program.
type Beyond struct {
	// Mode is that of all of them: off, audit or enforce.
	Mode string `json:"mode,omitempty"`
	// RuleModes are those of single ones, by ID.
	RuleModes map[string]string `json:"ruleModes,omitempty"`
	// TerminatedPodGrace is in nanoseconds in the record.
	TerminatedPodGrace *time.Duration `json:"terminatedPodGrace,omitempty"`
	// CredentialProviderTokens is nil as long as nobody has said either.
	CredentialProviderTokens *bool `json:"credentialProviderTokens,omitempty"`
}

// BeyondUpstream is what the profile does with the optional rules: hardened is
// there to be stricter than upstream, parity to be compared with it.
func (p Profile) BeyondUpstream() rules.Mode {
	if p == Hardened {
		return rules.Enforce
	}
	return rules.Off
}

// Validate reports every problem, by the flag that it came from.
func (b Beyond) Validate() error {
	var problems []error
	mode, err := rules.ParseMode(cmp.Or(b.Mode, rules.Off.String()))
	if err != nil {
		problems = append(problems, fmt.Errorf("--beyond-upstream: %w", err))
	}
	_, wrong := rules.ParseModes(slices.Concat(nodeauthorizer.Rules, noderestriction.Rules, kubeletauth.Rules), mode,
		b.RuleModes)
	for _, err := range wrong {
		problems = append(problems, fmt.Errorf("--rule-mode: %w", err))
	}
	if b.TerminatedPodGrace != nil && *b.TerminatedPodGrace < 0 {
		problems = append(problems, fmt.Errorf("--terminated-pod-grace is %v, want 0 or more", *b.TerminatedPodGrace))
	}
	return errors.Join(problems...)
}

// validate refuses options with which nothing should begin.
func (o Options) validate() error {
	return errors.Join(host.ValidatePolicy(o.Certificates), o.Beyond.Validate(), o.Policy.Validate(),
		o.NodeScope.Validate())
}

// The IDs of a component's rules begin with its letters, so that it can be told
// about its own and about no other's.
const (
	authorizerRules  = "NA-"
	restrictionRules = "NR-"
	kubeletRules     = "KA-"
)

// setModes gives a component the modes of its rules. That of all is always written
// out, so that a reader of the static pod sees it; the rest only if it was decided.
func (b Beyond) setModes(pod *staticpod.Pod, p Profile, prefix string) {
	pod.SetArg("beyond-upstream", cmp.Or(b.Mode, p.BeyondUpstream().String()))
	if pairs := b.pairsOf(prefix); len(pairs) > 0 {
		pod.SetArg("rule-mode", strings.Join(pairs, ","))
	}
}

// setArgs gives the node authorizer its flags.
func (b Beyond) setArgs(pod *staticpod.Pod, p Profile) {
	b.setModes(pod, p, authorizerRules)
	if b.TerminatedPodGrace != nil {
		pod.SetArg("terminated-pod-grace", b.TerminatedPodGrace.String())
	}
	if b.CredentialProviderTokens != nil {
		pod.SetArg("credential-provider-tokens", fmt.Sprint(*b.CredentialProviderTokens))
	}
}

// pairs are the modes of single rules in a fixed order.
func (b Beyond) pairs() []string {
	var pairs []string
	for _, id := range slices.Sorted(maps.Keys(b.RuleModes)) {
		pairs = append(pairs, id+"="+b.RuleModes[id])
	}
	return pairs
}

// pairsOf are those of one component.
func (b Beyond) pairsOf(prefix string) []string {
	return slices.DeleteFunc(b.pairs(), func(pair string) bool { return !strings.HasPrefix(pair, prefix) })
}

// In says in one line what the profile makes of it.
func (b Beyond) In(p Profile) string {
	return strings.Join(append([]string{cmp.Or(b.Mode, p.BeyondUpstream().String())}, b.pairs()...), ", ")
}

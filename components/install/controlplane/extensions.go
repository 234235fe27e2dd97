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

	"k8s.io/apimachinery/pkg/labels"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/node"
	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Extensions has the user's settings for the rules that upstream does not have. A zero field means the
// default of the profile or of the program.
type Extensions struct {
	// AuditOnly is true if the installation denies nothing that was allowed before it. It overrides
	// the modes of rules.
	AuditOnly bool `json:"auditOnly,omitempty"`
	// AuditFor is how long this, and rules in mode audit, are to last. 0 means [DefaultAuditFor].
	// Nothing changes after it: `bulkhead doctor` reports it.
	AuditFor time.Duration `json:"auditFor,omitempty"`
	// ExtendTokens is true if kube-apiserver goes on extending the lifetime of ServiceAccount tokens
	// to a year, for clients that do not read their token again.
	ExtendTokens bool `json:"extendTokens,omitempty"`
	// IgnoreFailures is true if kube-apiserver goes on without node-restriction when it cannot call
	// it. Then only in-tree NodeRestriction checks the writes of nodes. If it is false, these writes
	// are denied. AuditOnly also ignores failures.
	IgnoreFailures bool `json:"ignoreFailures,omitempty"`
	// DenyUnknown is true if node-authorizer denies requests for resources without a rule also when
	// Kubernetes is newer than node-authorizer supports.
	DenyUnknown bool `json:"denyUnknownResources,omitempty"`
	// Mode is the mode of all these rules: off, audit or enforce.
	Mode string `json:"mode,omitempty"`
	// RuleModes are the modes of single rules, by ID.
	RuleModes map[string]string `json:"ruleModes,omitempty"`
	// TerminatedPodGrace is stored in nanoseconds in the record.
	TerminatedPodGrace *time.Duration `json:"terminatedPodGrace,omitempty"`
	// CredentialProviderTokens is nil if the user has not set it.
	CredentialProviderTokens *bool `json:"credentialProviderTokens,omitempty"`
	// ProxyFlags are flags of kubelet-auth-proxy, by name.
	ProxyFlags map[string]string `json:"proxyFlags,omitempty"`
	// NodeSelector is a label selector of the nodes with kubelet-auth-proxy. An empty one selects all.
	NodeSelector string `json:"nodeSelector,omitempty"`
	// LoopbackClients is the decision for clients of the kubelets on 127.0.0.1. If it is empty, it
	// depends on AuditOnly ([Extensions.NodeLoopbackClients]).
	LoopbackClients node.LoopbackClients `json:"loopbackClients,omitempty"`
}

// ExtensionMode returns the profile's default mode of the optional rules. Hardened is stricter
// than upstream. Parity must be comparable with upstream.
func (p Profile) ExtensionMode() rules.Mode {
	if p == Hardened {
		return rules.Enforce
	}
	return rules.Off
}

// Validate reports every invalid setting, with its flag.
func (b Extensions) Validate() error {
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
	if b.AuditFor < 0 {
		problems = append(problems, fmt.Errorf("--audit-for is %v, want more than 0", b.AuditFor))
	}
	for _, err := range b.validateProxyFlags() {
		problems = append(problems, fmt.Errorf("--kubelet-auth-proxy-flags: %w", err))
	}
	if _, err := labels.Parse(b.NodeSelector); err != nil {
		problems = append(problems, fmt.Errorf("--kubelet-node-selector: %w", err))
	}
	return errors.Join(problems...)
}

// validate reports invalid options before anything changes.
func (o Options) validate() error {
	var mode error
	if o.Extensions.AuditOnly && o.Profile != Hardened {
		mode = fmt.Errorf("--mode=audit needs --profile=%s: only there do the in-tree components decide what Bulkhead would "+
			"deny. For profile %s, add --mode=enforce", Hardened, o.Profile)
	}
	var failurePolicy error
	if o.Extensions.IgnoreFailures && o.Profile != Hardened {
		failurePolicy = fmt.Errorf("--node-restriction-failure-policy=Ignore needs --profile=%s: only there does in-tree "+
			"NodeRestriction check the writes of nodes while node-restriction is unavailable. For profile %s, add "+
			"--node-restriction-failure-policy=Fail", Hardened, o.Profile)
	}
	var tokens error
	if o.Extensions.AuditOnly && o.GuardsKubelets() && o.Extensions.deniesTokens() {
		tokens = fmt.Errorf("--mode=audit does not allow --kubelet-auth-proxy-flags=%s=false: kubelet-auth-proxy would "+
			"answer every token with 401. Remove the flag, or add --mode=enforce", tokenFlag)
	}
	return errors.Join(mode, failurePolicy, tokens, host.ValidatePolicy(o.Certificates), o.Extensions.Validate(),
		o.Policy.Validate(), o.NodeScope.Validate())
}

// The rule IDs of each component have their own prefix. So each component gets only the modes of
// its own rules.
const (
	authorizerRules  = "NA-"
	restrictionRules = "NR-"
	kubeletRules     = "KA-"
)

// setModes sets the flags for a component's rule modes. It always sets the mode of all rules, so
// that the manifest shows it. It sets modes of single rules only if the user has set them.
func (b Extensions) setModes(pod *staticpod.Pod, p Profile, prefix string) {
	if b.AuditOnly {
		pod.SetArg("audit-only", "true")
	}
	pod.SetArg("beyond-upstream", cmp.Or(b.Mode, p.ExtensionMode().String()))
	if pairs := b.pairsOf(prefix); len(pairs) > 0 {
		pod.SetArg("rule-mode", strings.Join(pairs, ","))
	}
}

// setArgs sets the flags of node-authorizer.
func (b Extensions) setArgs(pod *staticpod.Pod, p Profile) {
	b.setModes(pod, p, authorizerRules)
	if b.DenyUnknown {
		pod.SetArg("unknown-resources", "deny")
	}
	if b.TerminatedPodGrace != nil {
		pod.SetArg("terminated-pod-grace", b.TerminatedPodGrace.String())
	}
	if b.CredentialProviderTokens != nil {
		pod.SetArg("credential-provider-tokens", fmt.Sprint(*b.CredentialProviderTokens))
	}
}

// failsOpen reports whether a write of a node is admitted if node-restriction cannot be called.
func (b Extensions) failsOpen() bool { return b.AuditOnly || b.IgnoreFailures }

// FailurePolicy describes in one line what happens while node-restriction is unavailable.
func (b Extensions) FailurePolicy() string {
	switch {
	case b.AuditOnly:
		return "Ignore, because the installation only audits"
	case b.IgnoreFailures:
		return "Ignore: while node-restriction is unavailable, only in-tree NodeRestriction checks the writes of nodes"
	}
	return "Fail: while node-restriction is unavailable, the writes of nodes that it checks are denied"
}

// Modes returns the modes of all rules that have one, with the profile. It ignores invalid settings,
// which Validate reports.
func (b Extensions) Modes(p Profile) map[rules.ID]rules.Mode {
	mode, err := rules.ParseMode(cmp.Or(b.Mode, p.ExtensionMode().String()))
	if err != nil {
		mode = p.ExtensionMode()
	}
	modes, _ := rules.ParseModes(slices.Concat(nodeauthorizer.Rules, noderestriction.Rules, kubeletauth.Rules), mode,
		b.RuleModes)
	return modes
}

// pairs returns the modes of single rules in a fixed order.
func (b Extensions) pairs() []string {
	var pairs []string
	for _, id := range slices.Sorted(maps.Keys(b.RuleModes)) {
		pairs = append(pairs, id+"="+b.RuleModes[id])
	}
	return pairs
}

// pairsOf returns the modes of the rules of one component.
func (b Extensions) pairsOf(prefix string) []string {
	return slices.DeleteFunc(b.pairs(), func(pair string) bool { return !strings.HasPrefix(pair, prefix) })
}

// In describes in one line the modes that apply with the profile.
func (b Extensions) In(p Profile) string {
	modes := strings.Join(append([]string{cmp.Or(b.Mode, p.ExtensionMode().String())}, b.pairs()...), ", ")
	if b.AuditOnly {
		return "audit only: Bulkhead reports what it would deny (in mode enforce: " + modes + ")"
	}
	return modes
}

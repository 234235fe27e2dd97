// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Extensions contains the values of the flags for the modes of rules.
type Extensions struct {
	Mode      string
	RuleModes map[string]string
	// AuditOnly is true if no rule is enforced, whatever the modes.
	AuditOnly bool
}

// revocationRules deny with --audit-only too. An administrator has revoked each of these credentials
// by its ID, so no client loses access by the installation.
var revocationRules = []rules.ID{"NA-REVOKE-1", "NS-REVOKE-1"}

// NotEnforced returns a function that reports whether a denial by the rule is only audited. It
// returns nil without --audit-only.
func (b *Extensions) NotEnforced() func(rules.ID) bool {
	if !b.AuditOnly {
		return nil
	}
	return func(id rules.ID) bool { return !slices.Contains(revocationRules, id) }
}

// DefaultExtensions enforces all optional rules.
func DefaultExtensions() Extensions {
	return Extensions{Mode: rules.Enforce.String(), RuleModes: map[string]string{}}
}

// Add adds the flags --beyond-upstream and --rule-mode. about is the description of
// --beyond-upstream, example an example value of --rule-mode.
func (b *Extensions) Add(fs *pflag.FlagSet, about, example string) {
	fs.StringVar(&b.Mode, "beyond-upstream", b.Mode, about)
	fs.Var(cliflag.NewMapStringString(&b.RuleModes), "rule-mode",
		"Modes of single rules: ID=off|audit|enforce. Example: "+example+". The other optional rules have the mode of "+
			"--beyond-upstream. Rules of the operator's configuration can be audited, but not off.")
	fs.BoolVar(&b.AuditOnly, "audit-only", b.AuditOnly,
		"Deny nothing: report each denial by log and metric. This also applies to rules without a mode and to "+
			"the limits on requests. Only requests with revoked credentials are denied.")
}

// Modes returns the modes of the rules in the table that have one, and all errors in the flags.
func (b *Extensions) Modes(table []rules.Rule) (modes map[rules.ID]rules.Mode, problems []error) {
	all, err := rules.ParseMode(b.Mode)
	if err != nil {
		problems = append(problems, fmt.Errorf("--beyond-upstream: %w", err))
	}
	modes, wrong := rules.ParseModes(table, all, b.RuleModes)
	for _, err := range wrong {
		problems = append(problems, fmt.Errorf("--rule-mode: %w", err))
	}
	return modes, problems
}

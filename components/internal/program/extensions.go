// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Extensions contains the values of the flags for the modes of optional rules.
type Extensions struct {
	Mode      string
	RuleModes map[string]string
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
		"ID=off|audit|enforce pairs for single optional rules, as in "+example+
			". The others have the mode of --beyond-upstream.")
}

// Modes returns the mode of each rule in the table, and all errors in the flags.
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

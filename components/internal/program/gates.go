// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// Gates contains the values of --feature-gates.
type Gates map[string]bool

// Add adds --feature-gates. known are the valid gates. change says what they change: it completes
// "only gates that change ..." in the help text.
func (g *Gates) Add(fs *pflag.FlagSet, known map[string]*bool, change string) {
	fs.Var(cliflag.NewMapStringBool((*map[string]bool)(g)), "feature-gates",
		"Feature gates of kube-apiserver, Name=true|false. Use the values of kube-apiserver. Only gates that "+
			"change "+change+" are valid: "+strings.Join(names(known), ", ")+".")
}

// Set sets the features to the values of the gates. It returns an error for an unknown gate. A
// misspelled gate would otherwise have no effect, without a warning.
func (g Gates) Set(known map[string]*bool) error {
	for _, name := range slices.Sorted(maps.Keys(g)) {
		feature, ok := known[name]
		if !ok {
			return fmt.Errorf("--feature-gates: unknown gate %q, want %v", name, names(known))
		}
		*feature = g[name]
	}
	return nil
}

func names(known map[string]*bool) []string { return slices.Sorted(maps.Keys(known)) }

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const inTree = "in-tree"

var (
	profiles = []string{"hardened", "parity", inTree}
	modes    = []string{rules.Off.String(), rules.Audit.String(), rules.Enforce.String()}
)

// oneOf accepts the values and an empty string, which means the default.
func oneOf(path *field.Path, value string, values []string) field.ErrorList {
	if value == "" || slices.Contains(values, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, values)}
}

func (r *Rules) validate(path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("mode"), r.Mode, modes)
	optional := slices.Concat(nodeauthorizer.Rules, noderestriction.Rules, kubeletauth.Rules)
	for _, id := range slices.Sorted(maps.Keys(r.Modes)) {
		// field.Path.Key would write the ID in brackets. The file has it after a dot.
		at := path.Child("modes", id)
		// ParseModes checks the ID and the mode.
		_, problems := rules.ParseModes(optional, rules.Off, map[string]string{id: r.Modes[id]})
		for _, problem := range problems {
			errs = append(errs, field.Invalid(at, r.Modes[id], problem.Error()))
		}
	}
	if grace := r.TerminatedPodGrace; grace != nil && grace.Duration < 0 {
		errs = append(errs, field.Invalid(path.Child("terminatedPodGrace"), grace.Duration.String(), "must be 0 or more"))
	}
	return errs
}

func (c *Certificates) validate(path *field.Path) field.ErrorList {
	return append(positive(path.Child("validity"), c.Validity), positive(path.Child("renewBefore"), c.RenewBefore)...)
}

func (s *NodeScope) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("customResources")
	if _, err := nodescope.ParseDeclarations(strings.Join(s.CustomResources, ",")); err != nil {
		errs = append(errs, field.Invalid(at, strings.Join(s.CustomResources, ","), err.Error()))
	}
	if len(s.CustomResources) > 0 && !s.Enabled {
		errs = append(errs, field.Invalid(at, strings.Join(s.CustomResources, ","), "needs nodeScope.enabled: true"))
	}
	return errs
}

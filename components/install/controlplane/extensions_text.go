// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// ParseIn reads the text of [Extensions.In], which every host records in ConfigMap bulkhead-hosts. It
// sets Mode and RuleModes. It accepts rules that this version does not know.
func ParseIn(text string) (Extensions, error) {
	var b Extensions
	for i, part := range strings.Split(text, ", ") {
		id, mode, single := strings.Cut(part, "=")
		if !single {
			mode = part
		}
		if _, err := rules.ParseMode(mode); err != nil || single != (i > 0) {
			return Extensions{}, fmt.Errorf("cannot read the rule modes %q: want a mode and then ID=MODE; use the version of "+
				"bulkhead that is installed", text)
		}
		switch {
		case !single:
			b.Mode = mode
		case b.RuleModes == nil:
			b.RuleModes = map[string]string{id: mode}
		default:
			b.RuleModes[id] = mode
		}
	}
	return b, nil
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
)

// Mode says whether a rule is off, audited or enforced.
type Mode uint8

// The modes of a rule. The zero value is Off.
const (
	// Off: the rule is not checked.
	Off Mode = iota
	// Audit: the decision is the same as with Off. Bulkhead reports what Enforce would deny.
	Audit
	// Enforce: the rule denies.
	Enforce
)

var modeNames = [...]string{Off: "off", Audit: "audit", Enforce: "enforce"}

// String returns the mode in the form that [ParseMode] reads, or "unknown".
func (m Mode) String() string {
	if int(m) >= len(modeNames) {
		return "unknown"
	}
	return modeNames[m]
}

// ParseMode reads "off", "audit" or "enforce", in lower case. The error names the invalid text and
// the valid modes.
func ParseMode(text string) (Mode, error) {
	for mode, name := range modeNames {
		if text == name {
			return Mode(mode), nil
		}
	}
	return Off, fmt.Errorf("invalid mode %q: use off, audit or enforce", text)
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"
)

// Mode says what an optional rule does.
type Mode uint8

// The modes of an optional rule. The zero value is Off.
const (
	// Off: the rule has no part in any answer.
	Off Mode = iota
	// Audit: answers are those of Off, and what Enforce would refuse is reported.
	Audit
	// Enforce: the rule refuses.
	Enforce
)

var modeNames = [...]string{Off: "off", Audit: "audit", Enforce: "enforce"}

// String is the mode as [ParseMode] reads it.
func (m Mode) String() string {
	if int(m) >= len(modeNames) {
		return "unknown"
	}
	return modeNames[m]
}

// ParseMode reads off, audit or enforce, in lower case. The error says what was
// given and what can be.
func ParseMode(text string) (Mode, error) {
	for mode, name := range modeNames {
		if text == name {
			return Mode(mode), nil
		}
	}
	return Off, fmt.Errorf("%q is no mode: it must be one of %s", text, strings.Join(modeNames[:], ", "))
}

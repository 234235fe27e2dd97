// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"fmt"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// ModeAnnotation says, on a ServiceAccount, whether its pods are held to their nodes or
// only watched as if they were ([ParseMode]). On a pod it has no meaning: a pod's
// annotations may only narrow.
const ModeAnnotation = "bulkhead.dev/node-scope-mode"

// ParseMode reads the value of [ModeAnnotation]: "audit", or "enforce", which is what
// holds without one. A value that is neither is an error, and enforces.
func ParseMode(value string) (audits bool, err error) {
	mode := strings.Trim(value, blanks)
	switch mode {
	case rules.Audit.String():
		return true, nil
	case rules.Enforce.String():
		return false, nil
	}
	return false, fmt.Errorf("%s: %q: want enforce or audit", ModeAnnotation, shortened(mode))
}

var audited = rules.Rule{
	ID: "NS-PASS-3",
	Description: "An account that is marked audit is answered as if it had no scope, by the authorizer and by " +
		"admission; what it would have been refused is counted and told, with the rule. " +
		"Before the whole cluster has been seen nobody knows the mark, and it is denied as everybody is.",
	Source:    "Bulkhead: owners need to see before they enforce",
	Extension: true,
}

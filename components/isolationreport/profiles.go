// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package isolationreport

import (
	"slices"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	scopeadmission "github.com/bulkhead-k8s/bulkhead/components/nodescope/admission"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Group is a group of rules, which is a profile of a report.
type Group struct {
	Name  string
	Rules []rules.Rule
}

// Groups returns the groups of all rules of Bulkhead.
func Groups() []Group {
	return []Group{
		{"NodeAuthorizer", nodeauthorizer.Rules},
		{"NodeRestriction", noderestriction.Rules},
		{"KubeletAPI", kubeletauth.Rules},
		{"NodeScope", slices.Concat(nodescope.Rules, scopeadmission.Rules)},
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// The refusals are made once: a flood of them costs no memory. They repeat nothing
// that the caller sent.
var (
	pathEmptySegment = refuse(RulePathEmptySegment, 400, "the path must begin with a slash and have no empty segment")
	pathDotSegment   = refuse(RulePathDotSegment, 400, `the path must have no segment "." or ".."`)
	pathBytes        = refuse(RulePathBytes, 400, "the path must be printable text, encoded once, without a backslash or an encoded slash")
	pathLookAlike    = refuse(RulePathLookAlike, 400, "the path begins with what looks like an endpoint of the kubelet and is none")
	methodNotServed  = refuse(RuleMethodNotServed, 405, "CONNECT and TRACE are not served")
)

func refuse(rule rules.ID, status int, text string) *Refusal {
	return &Refusal{Rule: rule, Status: status, Reason: rules.Rule{ID: rule}.Reason(text)}
}

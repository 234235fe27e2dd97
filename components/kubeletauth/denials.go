// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// The denials are made once, and do not change. They repeat nothing
// that the caller sent.
var (
	pathEmptySegment = deny(RulePathEmptySegment, 400, "the path must begin with a slash and have no empty segment")
	pathDotSegment   = deny(RulePathDotSegment, 400, `the path must have no segment "." or ".."`)
	pathBytes        = deny(RulePathBytes, 400,
		"the path must be printable text, encoded once, without a backslash or an encoded slash")
	pathLookAlike = deny(RulePathLookAlike, 400,
		"the path begins with what looks like an endpoint of the kubelet and is none")
	methodNotServed = deny(RuleMethodNotServed, 405, "CONNECT and TRACE are not served")
)

func deny(rule rules.ID, code int, text string) *rules.Decision {
	return &rules.Decision{Rule: rule, Code: code, Message: text}
}

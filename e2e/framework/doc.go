// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package framework is shared by the end-to-end suites. It has one contract with the cluster under
// test, the identities that specs act as, and requests with their possible outcomes. It writes a
// report of how each rule was proved.
//
// A spec names a rule and an outcome in its labels ([Allows], [Denies]). It makes one request and
// compares the answer with those labels ([Suite.ExpectClaim]). A denial must be the right denial:
// status 403 and the ID of the rule. An allowance must be from Bulkhead: a SubjectAccessReview of
// the same attributes names the rule. So a binding in RBAC cannot be the reason.
//
// Specs send calls to a kubelet's port byte for byte ([Port.Send]), because most of these calls
// cannot be sent by a client library. A denial must have its status and the ID of the rule in its
// text. The audit log of kubelet-auth-proxy must have both, too ([Suite.ExpectDenied],
// [Suite.ExpectForwarded]).
//
// The package has no global state. A suite has one [Suite] value. What a spec records for the
// report is in Ginkgo's report entries.
package framework

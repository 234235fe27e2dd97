// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package framework is what the end-to-end suites share: one contract with the
// cluster under test, the identities that specs act as, requests and the
// outcomes that they may have, and a report of which rule was proved how.
//
// A spec names a rule and an outcome in its labels ([Allows], [Denies]), makes
// one request, and holds the answer against those labels ([Suite.Hold]). A
// refusal has to be the right refusal: 403 and the ID of the rule. An allowance
// has to be ours: a SubjectAccessReview of the same attributes names the rule,
// so that a binding in RBAC cannot pass for it.
//
// A kubelet's port is asked byte for byte ([Port.Send]), because most of what is worth
// asking there no client library would send. A refusal has to have its status and the
// ID of the rule in its text, and the audit log of kubelet-auth-proxy has to have both,
// too ([Suite.ExpectDenied], [Suite.ExpectForwarded]).
//
// The package keeps no state of its own: a suite has one [Suite] value, and what
// a spec leaves for the report travels in Ginkgo's report entries.
package framework

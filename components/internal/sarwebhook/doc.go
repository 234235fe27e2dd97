// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package sarwebhook serves SubjectAccessReview v1 with the decisions of an authorizer.
//
// Its only client is kube-apiserver. How kube-apiserver reads an answer decides what this package
// answers:
//
//   - A 4xx is a failed call: failurePolicy decides, and the fail-open counter increases. A 4xx is
//     only for what kube-apiserver never sends: a wrong method or content type, or a body that is
//     not a SubjectAccessReview v1.
//   - kube-apiserver retries a 429 or a 5xx five times, and then the call has failed too. They are
//     never sent. Otherwise a user who sends many requests would gain four seconds and the decision
//     of another authorizer.
//   - A user can send too many requests at once, a selector with ten thousand requirements, or a
//     request that makes the authorizer panic. All of these are answered 200 and denied.
//
// A request is allowed only if the authorizer allows it without an error.
package sarwebhook

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package sarwebhook serves SubjectAccessReview v1 from an authorizer.
//
// Its only client is kube-apiserver, and the way kube-apiserver reads an answer
// decides what is answered here:
//
//   - A 4xx is a failed call: failurePolicy decides, and the fail-open counter
//     rises. It is kept for what kube-apiserver never sends: a wrong method or
//     content type, a body that is no SubjectAccessReview v1.
//   - 429 and 5xx are retried five times and then are a failed call as well. They
//     are never sent: a flood must not buy four seconds and another authorizer.
//   - So whatever the author of a request can bring about (too many requests in
//     flight, a selector with ten thousand requirements, a request that makes the
//     authorizer panic) is answered 200 and denied.
//
// Nothing is allowed unless the authorizer said so, without an error.
package sarwebhook

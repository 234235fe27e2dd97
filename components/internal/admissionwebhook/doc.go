// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package admissionwebhook serves AdmissionReview v1 from a [Reviewer].
//
// Its only client is kube-apiserver, and the way kube-apiserver reads an answer
// decides what is answered here:
//
//   - A call that fails refuses the write as well, under failurePolicy Fail, but
//     with a 500 that tells nobody why, and under Ignore it admits it. A 4xx is kept
//     for what kube-apiserver never sends: a wrong method or content type, a body
//     that is no AdmissionReview v1 of anybody. A 5xx is never sent.
//   - So whatever the author of a request can bring about (an object of many
//     megabytes, too many requests in flight, a request that makes the policy panic)
//     is answered 200 and refused. What a kubelet should try again is refused with
//     429, without a Retry-After: it would be waited for inside of one call.
//   - A code below 400 beside a refusal becomes a 400, so none is sent.
//   - The uid of the answer has to be that of the request, also when the request
//     was not read. kube-apiserver writes it first, so it is in the first bytes.
//
// Nothing that a node writes is admitted unless the Reviewer said so. What anybody
// else writes is admitted before its objects are decoded: the registration lets
// only nodes through, and a mistake there must not stop a cluster.
package admissionwebhook

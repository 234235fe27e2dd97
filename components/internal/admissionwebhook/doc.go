// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package admissionwebhook serves AdmissionReview v1 with the decisions of a [Reviewer].
//
// Its only client is kube-apiserver. How kube-apiserver reads an answer decides what this package
// answers:
//
//   - Under failurePolicy Fail, a failed call rejects the write too, but with a 500 that gives no
//     reason. Under failurePolicy Ignore, a failed call admits the write. So a 4xx is only for what
//     kube-apiserver never sends: a wrong method or content type, or a body without a uid. A 5xx is
//     never sent.
//   - A user can send an object of many megabytes, an object that is nested too deeply, too many
//     requests at once, or a request that makes the policy panic. All of these are answered 200 with a
//     denial, also a body with a uid that is not an AdmissionReview v1. A denial that the
//     kubelet should retry has code 429, without a Retry-After: kube-apiserver would wait for it
//     within the same call.
//   - kube-apiserver turns a code below 400 in a denial into 400. So no such code is sent.
//   - The uid of the answer must be that of the request, also if the request was not read.
//     kube-apiserver writes the uid first, so it is in the first bytes.
//
// A write of a node is admitted only if the Reviewer allows it. A write of any other user is
// admitted before its objects are decoded. The registration selects only nodes' requests, and a
// mistake in it must not stop a cluster.
package admissionwebhook

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package authz asks the API server whether a user may do what a request to
// the kubelet's API needs, by SubjectAccessReview, as the kubelet itself does
// (cmd/kubelet/app/auth.go BuildAuthz).
//
// What the API server decided is remembered for as long as the flags say, apart for
// what it allowed and what it did not. Two requests have the same answer only if all
// that the API server would be told is the same: user, UID, groups in their order,
// extra, and attributes. Where no decision can be had there is an error, and nothing
// is allowed.
package authz

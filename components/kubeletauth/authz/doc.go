// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package authz authorizes requests to the kubelet's API by SubjectAccessReview, as the kubelet
// itself does (cmd/kubelet/app/auth.go BuildAuthz).
//
// It caches allowed and denied requests, each for its own time. Two requests share an answer only
// if the API server would get the same review: user, UID, groups in their order, extra, and
// attributes. If there is no decision, Authorize returns an error and nothing is allowed.
package authz

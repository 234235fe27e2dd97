// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package reviewclient makes reviews at the API server, as few as possible.
//
// A cache, bounded in entries and in bytes, keeps each answer for its own time. Callers with the
// same query share one review. The reviews in flight are bounded, and so are the waiting ones.
// There is no other rate limit. Reviews of trusted queries have separate slots. A failed review is
// retried as the kubelet does, while a caller waits for the answer. An error is not cached.
//
// The webhook authenticator and authorizer of k8s.io/apiserver cannot be used instead. They have no
// limit on the reviews of one client. They cannot bypass their cache for a recheck. Their cache has
// no limit in bytes. The tests in components/conformance/reviews show all three.
package reviewclient

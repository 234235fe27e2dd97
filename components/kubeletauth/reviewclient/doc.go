// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package reviewclient asks the API server's review APIs, as seldom as it may.
//
// An answer is held for as long as its kind is worth, in a cache that is bounded in
// entries and in bytes. Callers with the same question share one review. Reviews in
// the air are bounded, and so are those that wait for their turn; there is no other
// throttle. Those of trusted questions and of others wait apart. What may be asked again
// is asked again as the kubelet does (k8s.io/apiserver/pkg/server/options
// DefaultAuthWebhookRetryBackoff), for as long as somebody waits for the answer. A review
// that failed is an error, and is not held.
package reviewclient

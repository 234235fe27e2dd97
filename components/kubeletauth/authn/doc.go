// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package authn authenticates requests to the kubelet's API, in the order of the kubelet
// (cmd/kubelet/app/auth.go BuildAuthn): client certificate, bearer token by TokenReview, bearer
// token in the websocket sub-protocol, and anonymous, if that is enabled and no credential was
// rejected.
//
// It differs from the kubelet where the kubelet has no limit or no answer:
//
//   - A revoked certificate is final: a valid token does not help. See package crl.
//   - It verifies a certificate once, and again after a change of the client CA or of the
//     revocation lists, or when the result expires.
//   - Names and groups of a certificate, presented chains and tokens are bounded.
//   - It caches an invalid certificate for some seconds.
//   - TokenReviews are rate-limited for each client address, and for all clients together. A flood
//     of tokens cannot cause more reviews. A token whose last TokenReview succeeded has its own
//     rate limit and its own slots. So a flood of other tokens does not delay it. A new token, for
//     example after a rotation, shares the limit of its address. During a flood from the same
//     address it can get a 429.
//   - A token that is for the API server, and not for kubelets, is a finding: the owner of the node
//     could use it at the API server. The audiences in a token select the TokenReview. They are not
//     trusted.
package authn

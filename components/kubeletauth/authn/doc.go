// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package authn authenticates requests to the kubelet's API, in the order of the kubelet
// (cmd/kubelet/app/auth.go BuildAuthn): client certificate, bearer token by TokenReview, bearer
// token in the websocket sub-protocol, and anonymous, if that is enabled and no credential was
// rejected.
//
// It differs from the kubelet where the kubelet has no limit or no answer:
//
//   - A revoked certificate is final: a token does not make up for it. See package crl.
//   - It verifies a certificate once, and again after a change of the client CA or of the
//     revocation lists, or when the result expires.
//   - Names and groups of a certificate, presented chains and tokens are bounded.
//   - It caches an invalid certificate for some seconds.
//   - TokenReviews are limited for each client address, and for all. A flood of tokens costs
//     the API server no more than that. A token whose last TokenReview succeeded has a limit
//     and slots of its own: no flood of other tokens delays it. A new token, as after a
//     rotation, shares the limit of its address: a flood from the same address can have it
//     answered 429.
//   - A token for the API server, and not for kubelets, is a finding: the owner of the node
//     could use it there. The audiences in a token choose the TokenReview. They are not
//     trusted.
package authn

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package authn finds out who sends a request to the kubelet's API, in the
// order of the kubelet (cmd/kubelet/app/auth.go BuildAuthn): client certificate,
// bearer token by TokenReview, bearer token in the websocket sub-protocol, and
// anonymous, if that is switched on and nothing that was shown was rejected.
//
// It differs from the kubelet where the kubelet has no bound or no answer:
//
//   - A revoked certificate ends it: no token makes up for it. See package crl.
//   - A certificate is verified once for as long as client CA, revocation lists and
//     time leave its verification as it is, and not for each request.
//   - Names and groups of a certificate, presented chains and tokens are bounded.
//   - Certificates that do not verify are not verified again for some seconds.
//   - TokenReviews are counted against the address that they are made for, and against
//     all of them. A flood of tokens costs the API server no more than that. A token
//     that was good the last time that the API server said anything about it has a
//     limit and a place in line of its own: no flood of others holds it up. One that is
//     new, as after a rotation, shares the limit of its address: behind an address that
//     many share, a neighbour can have it refused with 429 for as long as the flood lasts.
//   - A token that is for the API server, and not for kubelets, is a finding: who owns
//     the node could use it there. What a token says of its audiences decides what the
//     API server is asked, and is not believed.
package authn

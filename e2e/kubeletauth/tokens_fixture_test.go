// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"encoding/base64"
	"time"

	. "github.com/onsi/ginkgo/v2"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// withLifetime returns the caller with a token that is signed with the cluster's own key. The token
// expires after the given time; a negative time means that it has expired. The API server issues no
// token for less than ten minutes.
func withLifetime(ctx context.Context, who Caller, ends time.Duration) Caller {
	GinkgoHelper()
	who.Token = suite.ReissueToken(ctx, who.Token, func(claims map[string]any) {
		now := time.Now()
		begins := now.Add(-2 * time.Hour).Unix()
		claims["iat"], claims["nbf"], claims["exp"] = begins, begins, now.Add(ends).Unix()
	})
	return who
}

// bySubprotocol returns a call that sends the token as a WebSocket subprotocol. Browsers do this,
// because they cannot set a header (k8s.io/apiserver/pkg/authentication/request/websocket).
func bySubprotocol(call Call, token string) Call {
	return call.Upgrading("base64url.bearer.authorization.k8s.io."+base64.RawURLEncoding.EncodeToString([]byte(token)),
		"v5.channel.k8s.io")
}

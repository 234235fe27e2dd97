// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// claimedAudiences are those that a JSON web token (RFC 7519 section 4.1.3) says that it
// is for. Nobody has looked at the signature. None are found in what is no such token.
func claimedAudiences(token string) []string {
	_, rest, ok := strings.Cut(token, ".")
	if !ok {
		return nil
	}
	payload, signature, ok := strings.Cut(rest, ".")
	if !ok || strings.Contains(signature, ".") {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return nil
	}
	var claims struct {
		Audience json.RawMessage `json:"aud"`
	}
	if json.Unmarshal(data, &claims) != nil {
		return nil
	}
	var one string
	if json.Unmarshal(claims.Audience, &one) == nil && one != "" {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(claims.Audience, &several) != nil {
		return nil
	}
	return several
}

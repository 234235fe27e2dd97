// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"encoding/base64"
	"testing"
)

func TestAttackClaimsOfToken(t *testing.T) {
	payload := `{"sub":"system:serviceaccount:ns:plain","kubernetes.io":{"namespace":"ns",` +
		`"node":{"name":"worker"},"pod":{"name":"plain","uid":"1"},"serviceaccount":{"name":"plain","uid":"2"}}}`
	of := claimsOf("header." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".signature")
	if of.Subject != "system:serviceaccount:ns:plain" || of.Bound.Pod.Name != "plain" {
		t.Errorf("claims of a token: %+v", of)
	}
	for _, text := range []string{"", "no token", "header.%.signature", "header.e30.signature"} {
		if of := claimsOf(text); of != (claims{}) {
			t.Errorf("claims of %q: %+v", text, of)
		}
	}
}

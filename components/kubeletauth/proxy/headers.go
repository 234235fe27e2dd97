// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"strings"
)

const (
	protocolHeader = "Sec-Websocket-Protocol"
	// bearerProtocol begins the sub-protocol that carries a token
	// (k8s.io/apiserver/pkg/authentication/request/websocket).
	bearerProtocol = "base64url.bearer.authorization.k8s.io." //nolint:gosec // what tokens begin with is no token
)

// withheld are headers that never reach the kubelet: they prove or claim who asks,
// or where from. Rewriting a request makes them useless, not harmless.
var withheld = [...]string{"Authorization", "Cookie", "Expect", "Forwarded", "Proxy-Authorization", "X-Real-Ip"}

// withheldPrefixes begin more of them.
var withheldPrefixes = [...]string{"Impersonate-", "X-Remote-", "X-Forwarded-"}

// withhold removes from header what the kubelet must not see. Names are in their
// canonical form already: net/http refuses those that have none.
func withhold(header http.Header) {
	for _, name := range withheld {
		delete(header, name)
	}
	for name := range header {
		for _, prefix := range withheldPrefixes {
			if strings.HasPrefix(name, prefix) {
				delete(header, name)
			}
		}
	}
	if protocols, ok := header[protocolHeader]; ok {
		withholdTokens(header, protocols)
	}
}

// withholdTokens leaves the sub-protocols that carry no token.
func withholdTokens(header http.Header, values []string) {
	var left []string
	for _, value := range values {
		for protocol := range strings.SplitSeq(value, ",") {
			protocol = strings.TrimSpace(protocol)
			if !isBearerProtocol(protocol) && protocol != "" {
				left = append(left, protocol)
			}
		}
	}
	if len(left) == 0 {
		delete(header, protocolHeader)
		return
	}
	header[protocolHeader] = []string{strings.Join(left, ", ")}
}

func isBearerProtocol(protocol string) bool {
	return len(protocol) >= len(bearerProtocol) && strings.EqualFold(protocol[:len(bearerProtocol)], bearerProtocol)
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"net/http"
	"strings"
)

const (
	protocolHeader = "Sec-Websocket-Protocol" // as net/http spells it
	// bearerProtocol is that of k8s.io/apiserver/pkg/authentication/request/websocket.
	bearerProtocol = "base64url.bearer.authorization.k8s.io." //nolint:gosec // a name, not a credential
)

// RemoveCredentials takes the authorization and the sub-protocols with a token off a
// request, and leaves the other sub-protocols in their order. Whoever the request is
// passed on to then learns nothing that is good elsewhere.
func RemoveCredentials(header http.Header) {
	header.Del("Authorization")
	values := header[protocolHeader]
	if len(values) == 0 {
		return
	}
	var kept []string
	found := false
	for _, value := range values {
		for protocol := range strings.SplitSeq(value, ",") {
			protocol = strings.TrimSpace(protocol)
			if len(protocol) >= len(bearerProtocol) && strings.EqualFold(protocol[:len(bearerProtocol)], bearerProtocol) {
				found = true
				continue
			}
			kept = append(kept, protocol)
		}
	}
	switch {
	case !found:
	case len(kept) == 0:
		header.Del(protocolHeader)
	default:
		header.Set(protocolHeader, strings.Join(kept, ","))
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"net/http"
	"strings"
)

const (
	protocolHeader = "Sec-Websocket-Protocol" // as net/http spells it
	// bearerProtocol is the prefix from k8s.io/apiserver/pkg/authentication/request/websocket.
	bearerProtocol = "base64url.bearer.authorization.k8s.io." //nolint:gosec // a name, not a credential
)

// RemoveCredentials removes the Authorization header and the sub-protocols that contain a token
// from a request. It keeps the other sub-protocols in their order. So the receiver of the forwarded
// request gets no credential that it could use elsewhere.
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

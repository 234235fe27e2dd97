// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authentication

import (
	"context"
	"net/http"
	"net/netip"

	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// withClient tells authenticators of tokens for whom they work.
type withClient struct{ next authenticator.Request }

func (w withClient) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if len(req.Header["Authorization"]) == 0 && len(req.Header[protocolHeader]) == 0 {
		return nil, false, nil
	}
	ctx := context.WithValue(req.Context(), clientKey{}, ClientOf(req.RemoteAddr))
	return w.next.AuthenticateRequest(req.WithContext(ctx))
}

type clientKey struct{}

// clientFrom is invalid, as one client among others, where it is not known.
func clientFrom(ctx context.Context) netip.Prefix {
	client, _ := ctx.Value(clientKey{}).(netip.Prefix)
	return client
}

// ClientOf is who limits are for: the address of a connection, host:port. Of IPv6 it is
// the /64, which a host has to itself. What is no address is one client.
func ClientOf(remote string) netip.Prefix {
	port, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address := port.Addr().Unmap().WithZone("")
	bits := 64
	if address.Is4() {
		bits = 32
	}
	client, _ := address.Prefix(bits) // fits
	return client
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import "net/netip"

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

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeaddress reads the names and addresses that nodes say they have. What it
// reads may be anything. All of it can be called from many goroutines.
package nodeaddress

import (
	"net/netip"
	"strings"
)

// ParseIP reads an IP address in its strict form: no leading zeros, no zone. An
// IPv4 address in the dress of IPv6 is the IPv4 address, as it is for who dials it.
func ParseIP(text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Zone() != "" {
		return netip.Addr{}, false
	}
	return ip.Unmap(), true
}

// Nobodys is true for an IP that no machine and no pod can be reached at from
// elsewhere. The kubelet refuses to have one (pkg/kubelet/kubelet_node_status.go
// validateNodeIP), and the API server to have one in an EndpointSlice.
func Nobodys(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast()
}

// Canonical is an address as it is compared.
func Canonical(address string) string {
	if ip, ok := ParseIP(address); ok {
		return ip.String()
	}
	return strings.TrimSuffix(strings.ToLower(address), ".")
}

// Dialable is true for an IP of a machine, and for a name that may be one's. What a
// name resolves to is not looked up: it may be another thing a moment later.
func Dialable(address string) bool {
	if ip, ok := ParseIP(address); ok {
		return !Nobodys(ip)
	}
	name := Canonical(address)
	return hostname(name) && !localName(name)
}

// hostname is true for what may be a name and can be no IP in any notation.
// Resolvers read 127.1 and 0x7f000001 as numbers: what ends in a number is none.
func hostname(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, is := strings.CutPrefix(last, "0x"); is {
		return strings.Trim(hex, "0123456789abcdef") != ""
	}
	return strings.Trim(last, "0123456789") != ""
}

// localName is true for the names that hosts files give to the loopback.
func localName(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	switch first {
	case "localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback":
		return true
	}
	return strings.HasSuffix(name, ".localhost")
}

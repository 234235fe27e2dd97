// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeaddress parses and classifies the names and addresses in the status of nodes. The
// input is untrusted. All functions are safe for concurrent use.
package nodeaddress

import (
	"net/netip"
	"strings"
)

// ParseIP parses an IP address in its strict form: no leading zeros, no zone. An IPv4-mapped IPv6
// address becomes the IPv4 address, because a client that dials it reaches the IPv4 address.
func ParseIP(text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Zone() != "" {
		return netip.Addr{}, false
	}
	return ip.Unmap(), true
}

// Unowned reports whether no other machine can reach a machine or pod at this IP. The kubelet
// rejects such an IP for itself (pkg/kubelet/kubelet_node_status.go validateNodeIP), and the API
// server rejects it in an EndpointSlice.
func Unowned(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast()
}

// Canonical returns the form of an address that comparisons use.
func Canonical(address string) string {
	if ip, ok := ParseIP(address); ok {
		return ip.String()
	}
	return strings.TrimSuffix(strings.ToLower(address), ".")
}

// Dialable reports whether address is an IP that a machine can have, or a name that a machine can
// have. It does not resolve the name, because the result can change at any time.
func Dialable(address string) bool {
	if ip, ok := ParseIP(address); ok {
		return !Unowned(ip)
	}
	name := Canonical(address)
	return hostname(name) && !localName(name)
}

// hostname reports whether name can be a DNS name and cannot be an IP in any notation. Resolvers
// read 127.1 and 0x7f000001 as numbers, so a name whose last label is a number is not a host name.
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

// localName reports whether name is one of the names that hosts files give to the loopback.
func localName(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	switch first {
	case "localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback":
		return true
	}
	return strings.HasSuffix(name, ".localhost")
}

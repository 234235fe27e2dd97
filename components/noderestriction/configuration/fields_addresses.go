// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"net/netip"
	"slices"
)

// prefixes parses a list of IPs and CIDR ranges, such as 192.0.2.0/24.
func (v *validator) prefixes(path string, texts []string) []netip.Prefix {
	if texts == nil {
		return nil
	}
	all := []netip.Prefix{}
	for i, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			if ip, failed := netip.ParseAddr(text); failed == nil && ip.Zone() == "" {
				prefix, err = netip.PrefixFrom(ip, ip.BitLen()), nil
			}
		}
		if err != nil || prefix.Masked() != prefix || prefix.Addr().Is4In6() {
			v.valid(element(path, i), text,
				"must be an IP, or a range of IPs that begins with its first one, such as 192.0.2.0/24")
			continue
		}
		all = append(all, prefix)
	}
	return all
}

// HasAddress reports whether the row allows the node to report the IP. The IP must have no zone and
// must not be an IPv4-mapped IPv6 address. A row without the field addresses allows all IPs.
func (m *Machine) HasAddress(ip netip.Addr) bool {
	return m == nil || m.Addresses == nil ||
		slices.ContainsFunc(m.Addresses, func(p netip.Prefix) bool { return p.Contains(ip) })
}

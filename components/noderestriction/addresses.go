// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
)

// hasIP is true if one of the addresses is that IP.
func hasIP(addresses []corev1.NodeAddress, ip netip.Addr) bool {
	for i := range addresses {
		if own, ok := nodeaddress.ParseIP(addresses[i].Address); ok && own == ip {
			return true
		}
	}
	return false
}

// newAddresses are those of which there was none of that type before.
func newAddresses(old, addresses []corev1.NodeAddress) (introduced []corev1.NodeAddress) {
	had := addressSet(old)
	for _, address := range addresses {
		if !had[asCompared(address)] {
			introduced = append(introduced, address)
		}
	}
	return introduced
}

func addressSet(addresses []corev1.NodeAddress) map[corev1.NodeAddress]bool {
	set := make(map[corev1.NodeAddress]bool, len(addresses))
	for _, address := range addresses {
		set[asCompared(address)] = true
	}
	return set
}

func asCompared(address corev1.NodeAddress) corev1.NodeAddress {
	return corev1.NodeAddress{Type: address.Type, Address: nodeaddress.Canonical(address.Address)}
}

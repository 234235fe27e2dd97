// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var addressService = rules.Rule{
	ID:          "NR-ADDRESS-5",
	Description: "A node introduces in the status of its Node no address that is the cluster IP of a Service.",
	Source: "Bulkhead: pods of the node may report the addresses of their Node (NR-PODIP-1), and networks take " +
		"what comes from a Node's address for a node",
	Extension: true,
	Optional:  true,
}

func (r *Restriction) checkAddressService(ctx context.Context, q *request,
	introduced []corev1.NodeAddress) *rules.Decision {
	if len(introduced) > maxNewAddresses {
		return q.forbid(addressService,
			fmt.Sprintf("node %q is not allowed to report more than %d new addresses", q.node, maxNewAddresses))
	}
	for _, address := range introduced {
		ip, ok := nodeaddress.ParseIP(address.Address)
		if !ok {
			continue
		}
		service, err := r.config.Cluster.ServiceWith(ctx, nodeaddress.Canonical(ip.String()))
		if err != nil {
			return q.raw(addressService, err)
		}
		if service != "" {
			return q.forbid(addressService,
				fmt.Sprintf("node %q is not allowed to report the address %q of %.253s", q.node, ip, service))
		}
	}
	return nil
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// The API server connects to a Node's address and kubelet port for exec, attach, port-forward and
// logs. It authenticates there with its own certificate.
var (
	addressUnowned = rules.Rule{
		ID: "NR-ADDRESS-1",
		Description: "A node adds to the status of its Node no loopback, unspecified, multicast or link-local IP, " +
			"no name that hosts files map to the loopback, and nothing that is neither an IP nor a host name.",
		Source:    "Bulkhead; a kubelet refuses such IPs (pkg/kubelet/kubelet_node_status.go validateNodeIP)",
		Extension: true,
		Optional:  true,
	}
	addressOthers = rules.Rule{
		ID:          "NR-ADDRESS-2",
		Description: "A node adds to the status of its Node no address that another Node has.",
		Source:      "Bulkhead; pkg/kubelet/client/kubelet_client.go GetConnectionInfo dials what the Node says",
		Extension:   true,
		Optional:    true,
	}
	addressChanged = rules.Rule{
		ID: "NR-ADDRESS-3",
		Description: "If a Node of its name has had addresses, a node reports only these, at least one of them, " +
			"and its own name as host name. This includes a Node that was deleted while node-restriction ran, unless " +
			"a machine joined under its name since. A cloud provider or an administrator sets new addresses.",
		Source:    "Bulkhead; pkg/kubelet/client/kubelet_client.go GetConnectionInfo dials what the Node says",
		Extension: true,
		Optional:  true,
	}
	addressPort = rules.Rule{
		ID: "NR-ADDRESS-4",
		Description: "If a Node of its name has had a kubelet port, a node reports no other port. This includes a " +
			"Node that was deleted while node-restriction ran, unless a machine joined under its name since.",
		Source:    "Bulkhead; pkg/kubelet/client/kubelet_client.go GetConnectionInfo dials what the Node says",
		Extension: true,
		Optional:  true,
	}
)

// maxNewAddresses limits the lookups for one status. A kubelet reports three addresses.
const maxNewAddresses = 16

func (r *Restriction) reviewNodeAddresses(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	making := old == nil
	if making {
		old = noNode
	}
	if making || !slices.Equal(old.Status.Addresses, node.Status.Addresses) {
		introduced := r.introduced(old, node)
		if refused := r.optional(q, addressUnowned,
			func() *rules.Decision { return checkAddressUnowned(q, introduced) }); refused != nil {
			return refused
		}
		if refused := r.optional(q, addressChanged,
			func() *rules.Decision { return r.checkAddressChanged(ctx, q, old, node) }); refused != nil {
			return refused
		}
		if refused := r.optional(q, addressOthers,
			func() *rules.Decision { return r.checkAddressOthers(ctx, q, introduced) }); refused != nil {
			return refused
		}
		if refused := r.optional(q, addressService,
			func() *rules.Decision { return r.checkAddressService(ctx, q, introduced) }); refused != nil {
			return refused
		}
	}
	if !making && kubeletPort(old) == kubeletPort(node) {
		return nil
	}
	return r.optional(q, addressPort, func() *rules.Decision { return r.checkAddressPort(ctx, q, old, node) })
}

// introduced returns the new addresses. It returns nil if all rules that use them are off.
func (r *Restriction) introduced(old, node *corev1.Node) []corev1.NodeAddress {
	if r.off(addressUnowned) && r.off(addressOthers) && r.off(addressService) {
		return nil
	}
	return newAddresses(old.Status.Addresses, node.Status.Addresses)
}

func kubeletPort(node *corev1.Node) int32 { return node.Status.DaemonEndpoints.KubeletEndpoint.Port }

func checkAddressUnowned(q *request, introduced []corev1.NodeAddress) *rules.Decision {
	for _, address := range introduced {
		if !nodeaddress.Dialable(address.Address) {
			return q.forbid(addressUnowned,
				fmt.Sprintf("node %q is not allowed to report the address %.253q", q.node, address.Address))
		}
	}
	return nil
}

func (r *Restriction) checkAddressOthers(ctx context.Context, q *request,
	introduced []corev1.NodeAddress) *rules.Decision {
	if len(introduced) > maxNewAddresses {
		return q.forbid(addressOthers,
			fmt.Sprintf("node %q is not allowed to report more than %d new addresses", q.node, maxNewAddresses))
	}
	for _, address := range introduced {
		owner, err := r.config.Cluster.AddressOwner(ctx, nodeaddress.Canonical(address.Address), q.node)
		if err != nil {
			return q.raw(addressOthers, err)
		}
		if owner != "" {
			return q.forbid(addressOthers,
				fmt.Sprintf("node %q is not allowed to report the address %.253q of another node", q.node, address.Address))
		}
	}
	return nil
}

// checkAddressChanged compares the new addresses with those of the Node. If the Node has none, it
// compares with the recorded ones. Otherwise a node could first remove all addresses and then
// report others.
func (r *Restriction) checkAddressChanged(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	if len(old.Status.Addresses) > 0 {
		return compareAddresses(q, old.Status.Addresses, node)
	}
	last, err := r.config.Cluster.LastReported(ctx, q.node)
	if err != nil {
		return q.raw(addressChanged, err)
	}
	if len(last.Addresses) == 0 {
		return nil
	}
	refused := compareAddresses(q, last.Addresses, node)
	if refused == nil {
		return nil
	}
	return r.unlessJoined(ctx, q, addressChanged, last.Created, refused)
}

// unlessJoined returns refused, unless a machine joined under the name of the node after that time,
// which is when a Node of this name was created. A bootstrapper gets no certificate for the name of
// a Node that exists (NR-BOOT-3). So that Node is deleted, and this machine is another one. A kubelet
// that still has a certificate does not join: it registers again.
func (r *Restriction) unlessJoined(ctx context.Context, q *request, by rules.Rule, created time.Time,
	refused *rules.Decision) *rules.Decision {
	joined, err := r.config.Cluster.LastJoined(ctx, q.node)
	switch {
	case err != nil:
		return q.raw(by, err)
	case !created.IsZero() && joined.After(created):
		return nil
	}
	return refused
}

func compareAddresses(q *request, known []corev1.NodeAddress, node *corev1.Node) *rules.Decision {
	if len(node.Status.Addresses) == 0 {
		return q.forbid(addressChanged, fmt.Sprintf("node %q is not allowed to report no address any more", q.node))
	}
	for _, address := range newAddresses(known, node.Status.Addresses) {
		if address.Type != corev1.NodeHostName || address.Address != q.node {
			return q.forbid(addressChanged,
				fmt.Sprintf("node %q is not allowed to report the address %.253q (%.40s): it had others", q.node, address.Address,
					address.Type))
		}
	}
	return nil
}

func (r *Restriction) checkAddressPort(ctx context.Context, q *request, old, node *corev1.Node) *rules.Decision {
	if known := kubeletPort(old); known != 0 {
		return comparePort(q, known, node)
	}
	last, err := r.config.Cluster.LastReported(ctx, q.node)
	if err != nil {
		return q.raw(addressPort, err)
	}
	if last.KubeletPort == 0 {
		return nil
	}
	refused := comparePort(q, last.KubeletPort, node)
	if refused == nil {
		return nil
	}
	return r.unlessJoined(ctx, q, addressPort, last.PortCreated, refused)
}

func comparePort(q *request, known int32, node *corev1.Node) *rules.Decision {
	if known == kubeletPort(node) {
		return nil
	}
	return q.forbid(addressPort,
		fmt.Sprintf("node %q is not allowed to change the port of its kubelet from %d to %d", q.node, known,
			kubeletPort(node)))
}

var addressService = rules.Rule{
	ID:          "NR-ADDRESS-5",
	Description: "A node adds to the status of its Node no address that is the cluster IP of a Service.",
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

// hasIP reports whether one of the addresses is that IP.
func hasIP(addresses []corev1.NodeAddress, ip netip.Addr) bool {
	for i := range addresses {
		if own, ok := nodeaddress.ParseIP(addresses[i].Address); ok && own == ip {
			return true
		}
	}
	return false
}

// newAddresses returns the addresses that old does not contain with the same type.
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

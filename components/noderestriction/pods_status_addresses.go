// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// maxPodIPs limits the lookups for one status. The API server accepts one IP of each family.
const maxPodIPs = 4

// reviewPodAddresses checks the IPs that the pod did not have before. A pod keeps its IPs for its
// lifetime, so most statuses have no new ones.
func (r *Restriction) reviewPodAddresses(ctx context.Context, q *request, old, pod *corev1.Pod) *rules.Decision {
	if !slices.Equal(old.Status.PodIPs, pod.Status.PodIPs) || old.Status.PodIP != pod.Status.PodIP {
		introduced := r.introducedIPs(&old.Status, &pod.Status)
		if refused := r.optional(q, podIPUnowned,
			func() *rules.Decision { return r.checkPodIPsUnowned(ctx, q, introduced) }); refused != nil {
			return refused
		}
		if refused := r.optional(q, podIPInside,
			func() *rules.Decision { return r.checkPodIPsInside(ctx, q, pod, introduced) }); refused != nil {
			return refused
		}
	}
	if slices.Equal(old.Status.HostIPs, pod.Status.HostIPs) && old.Status.HostIP == pod.Status.HostIP {
		return nil
	}
	return r.optional(q, podHostIP, func() *rules.Decision { return r.checkHostIPs(ctx, q, old, pod) })
}

// introducedIPs returns the new IPs. It returns nil if all rules that use them are off.
func (r *Restriction) introducedIPs(old, status *corev1.PodStatus) []string {
	if r.off(podIPUnowned) && r.off(podIPInside) {
		return nil
	}
	return newPodIPs(old, status)
}

// newPodIPs returns the IPs that the status did not have before. If the status has more than
// maxPodIPs, the result has more than maxPodIPs too, but not all of them.
func newPodIPs(old, status *corev1.PodStatus) (introduced []string) {
	for _, ip := range append([]corev1.PodIP{{IP: status.PodIP}},
		status.PodIPs[:min(len(status.PodIPs), maxPodIPs+1)]...) {
		had := ip.IP == old.PodIP || slices.Contains(old.PodIPs, ip)
		if len(status.PodIPs) > maxPodIPs || ip.IP != "" && !had && !slices.Contains(introduced, ip.IP) {
			introduced = append(introduced, ip.IP)
		}
	}
	return introduced
}

func (r *Restriction) checkPodIPsUnowned(ctx context.Context, q *request, introduced []string) *rules.Decision {
	if len(introduced) > maxPodIPs {
		return q.forbid(podIPUnowned, fmt.Sprintf("node %q reports more than %d IPs for a pod", q.node, maxPodIPs))
	}
	for _, text := range introduced {
		ip, ok := nodeaddress.ParseIP(text)
		if !ok || nodeaddress.Unowned(ip) {
			return q.forbid(podIPUnowned, fmt.Sprintf("node %q cannot report %.45q as the IP of a pod", q.node, text))
		}
		owner, err := r.podIPOwner(ctx, q, ip)
		if err != nil {
			return q.raw(podIPUnowned, err)
		}
		if owner != "" {
			return q.forbid(podIPUnowned,
				fmt.Sprintf("node %q cannot report %q as the IP of a pod: it is that of another node", q.node, text))
		}
	}
	return nil
}

// podIPOwner returns the other Node that has the IP. It returns "" if the IP is in the podCIDRs of
// this node. Otherwise a hostile node could report the pod IPs of other nodes as its own addresses.
// Then those nodes could not report their pods.
func (r *Restriction) podIPOwner(ctx context.Context, q *request, ip netip.Addr) (string, error) {
	owner, err := r.config.Cluster.AddressOwner(ctx, ip.String(), q.node)
	if err != nil || owner == "" {
		return "", err
	}
	node, err := r.config.Cluster.Node(ctx, q.node)
	if err != nil {
		return "", err
	}
	if inside, _ := inPodCIDRs(node, ip); inside {
		return "", nil
	}
	return owner, nil
}

func (r *Restriction) checkPodIPsInside(ctx context.Context, q *request, pod *corev1.Pod,
	introduced []string) *rules.Decision {
	if len(introduced) == 0 {
		return nil
	}
	if len(introduced) > maxPodIPs {
		return q.forbid(podIPInside, fmt.Sprintf("node %q reports more than %d IPs for a pod", q.node, maxPodIPs))
	}
	node, err := r.config.Cluster.Node(ctx, q.node)
	if err != nil {
		return q.raw(podIPInside, err)
	}
	for _, text := range introduced {
		if ip, ok := nodeaddress.ParseIP(text); !ok || !mayBePodIP(node, pod, ip) {
			return q.forbid(podIPInside,
				fmt.Sprintf("node %q can only report IPs of pods that are inside its podCIDRs or its own, and %.45q is not", q.node,
					text))
		}
	}
	return nil
}

func mayBePodIP(node *corev1.Node, pod *corev1.Pod, ip netip.Addr) bool {
	if hasIP(node.Status.Addresses, ip) {
		return true
	}
	inside, decided := inPodCIDRs(node, ip)
	return !pod.Spec.HostNetwork && (inside || !decided)
}

// inPodCIDRs returns decided as false if the Node has no podCIDR of the IP's family. Many pod
// networks assign IPs without podCIDRs.
func inPodCIDRs(node *corev1.Node, ip netip.Addr) (inside, decided bool) {
	for _, text := range append([]string{node.Spec.PodCIDR}, node.Spec.PodCIDRs...) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix.Addr().Is4() != ip.Is4() {
			continue
		}
		if prefix.Contains(ip) {
			return true, true
		}
		decided = true
	}
	return false, decided
}

func (r *Restriction) checkHostIPs(ctx context.Context, q *request, old, pod *corev1.Pod) *rules.Decision {
	if len(pod.Status.HostIPs) > maxPodIPs {
		return q.forbid(podHostIP, fmt.Sprintf("node %q reports more than %d host IPs for a pod", q.node, maxPodIPs))
	}
	node, err := r.config.Cluster.Node(ctx, q.node)
	if err != nil {
		return q.raw(podHostIP, err)
	}
	for _, host := range append([]corev1.HostIP{{IP: pod.Status.HostIP}}, pod.Status.HostIPs...) {
		if host.IP == "" || host.IP == old.Status.HostIP || slices.Contains(old.Status.HostIPs, host) {
			continue
		}
		if ip, ok := nodeaddress.ParseIP(host.IP); !ok || !hasIP(node.Status.Addresses, ip) {
			return q.forbid(podHostIP,
				fmt.Sprintf("node %q can only report host IPs that are its own, and %.45q is not", q.node, host.IP))
		}
	}
	return nil
}

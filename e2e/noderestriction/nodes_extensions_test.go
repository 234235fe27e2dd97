// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// known gives both Nodes of the Env addresses, and writes to the Env's own Node.
func known(r Request) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		addressed(ctx, e)
		otherAddressed(ctx, e)
		return r.Named(e.Own)
	}
}

// at reports an address of the node, in addition to its own name.
func at(address func(*Env) string) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		all := []any{fields{"type": "Hostname", "address": e.Own}, fields{"type": "InternalIP", "address": address(e)}}
		return known(Patch(api.Nodes).Sub("status").With(status("addresses", all)))(ctx, e)
	}
}

// first reports an address of a node that had none.
func first(ip string) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		otherAddressed(ctx, e)
		return registered(own,
			Patch(api.Nodes).Sub("status").With(status("addresses", []any{fields{"type": "InternalIP", "address": ip}})))(ctx, e)
	}
}

// port reports the port of the kubelet.
func port(n int) Request {
	return Patch(api.Nodes).Sub("status").With(status("daemonEndpoints", fields{"kubeletEndpoint": fields{"Port": n}}))
}

var _ = DescribeTable("a node that reports addresses", admit,
	Entry("reports its first address: admitted", Allows("NR-ADDRESS-1"), first("192.0.2.50")),
	Entry("reports a loopback address: denied", DeniesBeyond("NR-ADDRESS-1", Behind), first("127.0.0.1"),
		"is not allowed to report the address"),
	Entry("reports a link-local address: denied", DeniesBeyond("NR-ADDRESS-1", Behind), first("169.254.169.254"),
		"is not allowed to report the address"),
	Entry("reports an address that no other Node has: admitted", Allows("NR-ADDRESS-2"), first("192.0.2.51")),
	Entry("reports the address of another Node: denied", DeniesBeyond("NR-ADDRESS-2", Behind), first(othersAddress),
		"of another node"),
	Entry("reports the same address again: admitted", Allows("NR-ADDRESS-3"), at((*Env).Address)),
	Entry("reports another address later: denied", DeniesBeyond("NR-ADDRESS-3", Behind),
		at(func(*Env) string { return "192.0.2.52" }),
		"it had others"),
	Entry("reports the kubelet's port: admitted", Allows("NR-ADDRESS-4"), known(port(10250))),
	Entry("reports another kubelet port later: denied", DeniesBeyond("NR-ADDRESS-4", Behind), known(port(31337)),
		"is not allowed to change the port of its kubelet"),
)

var _ = DescribeTable("a node that writes fields that others set", admit,
	Entry("stays cordoned: admitted", Allows("NR-CORDON-1"), registered(own,
		Patch(api.Nodes).With(spec("unschedulable", true)))),
	Entry("uncordons itself: denied", DeniesBeyond("NR-CORDON-1", Behind),
		registered(own, Patch(api.Nodes).With(spec("unschedulable", false))), "is not allowed to make itself schedulable"),

	Entry("sets an annotation of kubelets: admitted", Allows("NR-ANNOTATION-1"),
		registered(own, Patch(api.Nodes).With(
			metadata("annotations", fields{"volumes.kubernetes.io/controller-managed-attach-detach": "true"})))),
	Entry("sets another annotation: denied", DeniesBeyond("NR-ANNOTATION-1", Behind),
		registered(own, Patch(api.Nodes).With(metadata("annotations", fields{"bulkhead.dev/e2e": "any"}))),
		"is not allowed to"),
	Entry("sets another annotation through its status: denied", DeniesBeyond("NR-ANNOTATION-1", Behind),
		registered(own, Patch(api.Nodes).Sub("status").With(metadata("annotations", fields{"bulkhead.dev/e2e": "any"}))),
		"is not allowed to"),

	Entry("registers without a podCIDR: admitted", Allows("NR-NODESPEC-1"), registering()),
	Entry("registers with a podCIDR: denied", DeniesBeyond("NR-NODESPEC-1", Behind),
		registering(func(_ *Env, node *corev1.Node) {
			node.Spec.PodCIDR, node.Spec.PodCIDRs = "198.51.100.0/24", []string{"198.51.100.0/24"}
		}), "is not allowed to modify podCIDRs"),
	Entry("registers with a providerID: admitted", Allows("NR-NODESPEC-2"),
		registering(func(_ *Env, node *corev1.Node) {
			node.Spec.ProviderID = "e2e://machine"
		})),
	Entry("sets a providerID later: denied", DeniesBeyond("NR-NODESPEC-2", Behind),
		registered(own, Patch(api.Nodes).With(spec("providerID", "e2e://another"))), "is not allowed to modify providerID"),
)

// The configuration of hardened allows only the kubelet's labels and taints.
var _ = DescribeTable("a node under the operator's configuration", Label(OnHardened), admit,
	Entry("registers with a label of kubelets: admitted", Allows("NR-LABEL-1"),
		registering(withLabel("kubernetes.io/arch"))),
	Entry("registers with a topology label of a driver: admitted", Allows("NR-LABEL-1"),
		registering(withLabel("topology.ebs.csi.aws.com/zone"))),
	Entry("registers with another label: denied", Denies("NR-LABEL-1"), registering(withLabel("example.com/dedicated")),
		"example.com/dedicated"),
	Entry("does not change labels: admitted", Allows("NR-LABEL-2"), registered(own, Patch(api.Nodes).With(fields{}))),
	Entry("adds another label: denied", Denies("NR-LABEL-2"),
		registered(own, Patch(api.Nodes).With(metadata("labels", fields{"example.com/dedicated": "payments"}))),
		"example.com/dedicated"),

	Entry("registers with a taint of kubelets: admitted", Allows("NR-TAINT-1"),
		registering(withTaint(corev1.TaintNodeUnschedulable))),
	Entry("registers with the taint of an external cloud provider: admitted", Allows("NR-TAINT-1"),
		registering(withTaint("node.cloudprovider.kubernetes.io/uninitialized"))),
	Entry("registers with another taint: denied", Denies("NR-TAINT-1"), registering(withTaint("example.com/dedicated")),
		"example.com/dedicated"),
)

func withTaint(key string) func(*Env, *corev1.Node) {
	return func(_ *Env, node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}
	}
}

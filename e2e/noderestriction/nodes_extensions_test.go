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

var _ = DescribeTable("a node that says where it is", admit,
	Entry("says so for the first time", Allows("NR-ADDRESS-1"), first("192.0.2.50")),
	Entry("is not on loopback", DeniesBeyond("NR-ADDRESS-1", Behind), first("127.0.0.1"),
		"is not allowed to report the address"),
	Entry("is not where nothing is", DeniesBeyond("NR-ADDRESS-1", Behind), first("169.254.169.254"),
		"is not allowed to report the address"),
	Entry("is where no other is", Allows("NR-ADDRESS-2"), first("192.0.2.51")),
	Entry("is not where another is", DeniesBeyond("NR-ADDRESS-2", Behind), first(othersAddress), "of node"),
	Entry("stays where it is", Allows("NR-ADDRESS-3"), at((*Env).Address)),
	Entry("does not go elsewhere", DeniesBeyond("NR-ADDRESS-3", Behind), at(func(*Env) string { return "192.0.2.52" }),
		"it had others"),
	Entry("says where its kubelet listens", Allows("NR-ADDRESS-4"), known(port(10250))),
	Entry("does not have it listen elsewhere", DeniesBeyond("NR-ADDRESS-4", Behind), known(port(31337)),
		"is not allowed to change the port of its kubelet"),
)

var _ = DescribeTable("a node that writes what others set", admit,
	Entry("stays cordoned", Allows("NR-CORDON-1"), registered(own, Patch(api.Nodes).With(spec("unschedulable", true)))),
	Entry("does not make itself schedulable", DeniesBeyond("NR-CORDON-1", Behind),
		registered(own, Patch(api.Nodes).With(spec("unschedulable", false))), "is not allowed to make itself schedulable"),

	Entry("annotates itself as kubelets do", Allows("NR-ANNOTATION-1"),
		registered(own, Patch(api.Nodes).With(
			metadata("annotations", fields{"volumes.kubernetes.io/controller-managed-attach-detach": "true"})))),
	Entry("annotates itself in no other way", DeniesBeyond("NR-ANNOTATION-1", Behind),
		registered(own, Patch(api.Nodes).With(metadata("annotations", fields{"bulkhead.dev/e2e": "any"}))),
		"is not allowed to"),
	Entry("not through its status either", DeniesBeyond("NR-ANNOTATION-1", Behind),
		registered(own, Patch(api.Nodes).Sub("status").With(metadata("annotations", fields{"bulkhead.dev/e2e": "any"}))),
		"is not allowed to"),

	Entry("has no range of pods when it registers", Allows("NR-NODESPEC-1"), registering()),
	Entry("does not choose its range of pods", DeniesBeyond("NR-NODESPEC-1", Behind),
		registering(func(_ *Env, node *corev1.Node) {
			node.Spec.PodCIDR, node.Spec.PodCIDRs = "198.51.100.0/24", []string{"198.51.100.0/24"}
		}), "is not allowed to modify podCIDRs"),
	Entry("says which machine it is when it registers", Allows("NR-NODESPEC-2"),
		registering(func(_ *Env, node *corev1.Node) {
			node.Spec.ProviderID = "e2e://machine"
		})),
	Entry("does not say so later", DeniesBeyond("NR-NODESPEC-2", Behind),
		registered(own, Patch(api.Nodes).With(spec("providerID", "e2e://another"))), "is not allowed to modify providerID"),
)

// The configuration of hardened allows only the kubelet's labels and taints.
var _ = DescribeTable("a node under the operator's configuration", Label(OnHardened), admit,
	Entry("registers with what kubelets apply", Allows("NR-LABEL-1"), registering(withLabel("kubernetes.io/arch"))),
	Entry("registers with a driver's topology", Allows("NR-LABEL-1"),
		registering(withLabel("topology.ebs.csi.aws.com/zone"))),
	Entry("does not register with another label", Denies("NR-LABEL-1"), registering(withLabel("example.com/dedicated")),
		"example.com/dedicated"),
	Entry("leaves its labels", Allows("NR-LABEL-2"), registered(own, Patch(api.Nodes).With(fields{}))),
	Entry("adds no other label", Denies("NR-LABEL-2"),
		registered(own, Patch(api.Nodes).With(metadata("labels", fields{"example.com/dedicated": "payments"}))),
		"example.com/dedicated"),

	Entry("registers with a taint that kubelets apply", Allows("NR-TAINT-1"),
		registering(withTaint(corev1.TaintNodeUnschedulable))),
	Entry("does not register with another taint", Denies("NR-TAINT-1"), registering(withTaint("example.com/dedicated")),
		"example.com/dedicated"),
)

func withTaint(key string) func(*Env, *corev1.Node) {
	return func(_ *Env, node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}
	}
}

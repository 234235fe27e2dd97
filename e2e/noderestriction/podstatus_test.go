// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// reporting patches the status of a pod on the Env's own node.
func reporting(patch fields) RequestFunc {
	return podOn(own, aboutPod(Patch(api.Pods).Sub("status").With(patch)))
}

// afterwards patches the status of a pod that has ended.
func afterwards(patch fields) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := e.Pod(ctx, e.Own)
		pod.Status.Phase = corev1.PodFailed
		_, err := suite.Client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		return aboutPod(Patch(api.Pods).Sub("status").With(patch))(pod)
	}
}

// podIPs reports the IP of a pod.
func podIPs(ip string) fields {
	return fields{"status": fields{"podIP": ip, "podIPs": []any{fields{"ip": ip}}}}
}

// inRange gives the Env's Nodes addresses and waits until the Env's own Node has its podCIDR.
// The patch then reports an IP inside it.
func inRange(patch func(inside string) fields) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		addressed(ctx, e)
		otherAddressed(ctx, e)
		var cidr string
		Eventually(ctx, func() (string, error) {
			node, err := suite.Client.CoreV1().Nodes().Get(ctx, e.Own, metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			cidr = node.Spec.PodCIDR
			return cidr, nil
		}).WithTimeout(ControllerManager).WithPolling(200*time.Millisecond).ShouldNot(BeEmpty(),
			"kube-controller-manager gives Nodes their podCIDR")
		return reporting(patch(must(netip.ParsePrefix(cidr)).Addr().Next().Next().String()))(ctx, e)
	}
}

// always is a patch that does not depend on the podCIDR.
func always(patch fields) func(string) fields { return func(string) fields { return patch } }

// onOwnAddress reports the node's own address as the pod's host IP.
func onOwnAddress(ctx context.Context, e *Env) Request {
	return inRange(always(status("hostIP", e.Address())))(ctx, e)
}

// othersAddress is the address of the Env's other Node after [otherAddressed].
const othersAddress = "192.0.2.99"

func otherAddressed(ctx context.Context, e *Env) {
	GinkgoHelper()
	e.Node(ctx, e.Other)
	patchStatus(ctx, e.Other, fields{"addresses": []any{fields{"type": "InternalIP", "address": othersAddress}}})
}

var _ = DescribeTable("a node that reports on a pod", admit,
	Entry("does not change annotations: admitted", Allows("NR-PODMETA-1"), reporting(status("message", "well"))),
	Entry("changes an annotation: denied", DeniesBeyond("NR-PODMETA-1", Behind),
		reporting(metadata("annotations", fields{"bulkhead.dev/e2e": "any"})),
		"cannot update annotations through pod status"),
	Entry("does not change finalizers: admitted", Allows("NR-PODMETA-2"), reporting(status("message", "well"))),
	Entry("changes a finalizer: denied", DeniesBeyond("NR-PODMETA-2", Behind),
		reporting(metadata("finalizers", []any{"bulkhead.dev/e2e"})),
		"cannot update finalizers or owner references through pod status"),

	Entry("sets phase Failed: admitted", Allows("NR-PODPHASE-1"), reporting(status("phase", "Failed"))),
	Entry("changes the message of an ended pod: admitted", Allows("NR-PODPHASE-1"),
		afterwards(status("message", "it was time"))),
	Entry("changes an ended pod from Failed to Succeeded: admitted", Allows("NR-PODPHASE-1"),
		afterwards(status("phase", "Succeeded"))),
	Entry("changes an ended pod to Running: denied", DeniesBeyond("NR-PODPHASE-1", Behind),
		afterwards(status("phase", "Running")),
		"cannot change the phase of a pod that has ended"),

	Entry("sets an IP of its podCIDR: admitted", Allows("NR-PODIP-1"), inRange(podIPs)),
	Entry("sets an IP outside of its podCIDR: denied", DeniesBeyond("NR-PODIP-1", Behind),
		inRange(always(podIPs("203.0.113.7"))),
		"inside its podCIDRs"),
	Entry("sets an IP that no node has: admitted", Allows("NR-PODIP-2"), inRange(podIPs)),
	Entry("sets an IP of another node: denied", DeniesBeyond("NR-PODIP-2", Behind), inRange(always(podIPs(othersAddress))),
		"it is that of another node"),
	Entry("sets a loopback IP: denied", DeniesBeyond("NR-PODIP-2", Behind), inRange(always(podIPs("127.0.0.1"))),
		"as the IP of a pod"),
	Entry("sets its own address as the host IP: admitted", Allows("NR-PODIP-3"), onOwnAddress),
	Entry("sets another node's address as the host IP: denied", DeniesBeyond("NR-PODIP-3", Behind),
		inRange(always(status("hostIP", othersAddress))),
		"can only report host IPs that are its own"),
)

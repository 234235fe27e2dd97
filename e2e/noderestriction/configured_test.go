// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// narrow is the hardened profile's configuration with limits of one, one row in the machine table,
// and sticky taints.
const narrow = `apiVersion: noderestriction.admission.k8s.io/v1
kind: Configuration
allowedLabels: []
allowedTaints: ["e2e.bulkhead.dev/sticky-*"]
stickyTaints: ["e2e.bulkhead.dev/sticky-*"]
machines:
- name: e2e-machine-*
  labels:
    e2e.bulkhead.dev/pool: pii
  taints:
  - key: e2e.bulkhead.dev/pool
    value: pii
    effect: NoSchedule
  addresses: [192.0.2.70]
mirrorPods:
  mode: enforce
  requireNamespaceAnnotation: true
  allowedAnnotations: ["kubeadm.kubernetes.io/*"]
caps:
  mirrorPods: 1
  resourceSlices: 1
  podCertificateRequests: 1
  certificateSigningRequests: 1
maxTokenSeconds: 86400
`

// full reaches a limit first, with objects of the administrator or of the node, and then makes the
// function's request.
func full(fill func(context.Context, *Env), makeRequest RequestFunc) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		fill(ctx, e)
		return makeRequest(ctx, e)
	}
}

func aMirrorPod(ctx context.Context, e *Env) {
	e.Put(ctx, fixtures.Pod(e.Namespace(ctx), e.NewName("mirror"), e.Own, fixtures.Mirror(e.Node(ctx, e.Own))))
}

func aSlice(ctx context.Context, e *Env) {
	e.Put(ctx, fixtures.ResourceSlice(e.NewName("slice"), e.Own))
}

func aPodCertificateRequest(ctx context.Context, e *Env) {
	pod := e.Pod(ctx, e.Own, fixtures.WithCertificate(fixtures.Signer))
	e.Put(ctx, must(fixtures.PodCertificateRequest(e.NewName("request"), pod, e.Account(ctx), e.Node(ctx, e.Own))))
}

func aSigningRequest(ctx context.Context, e *Env) {
	request, _, err := fixtures.CertificateSigningRequest(e.NewName("csr"), client, "system:node:"+e.Own)
	Expect(err).NotTo(HaveOccurred())
	e.PutAs(ctx, suite.AsNode(e.Own), request)
}

const asMany = "as one node may have: 1"

// asMachine is the body of entries about a node of the machine table.
func asMachine(ctx SpecContext, makeRequest RequestFunc, text ...string) {
	suite.ExpectWriteClaim(ctx, suite.AsNode("e2e-machine-7"), makeRequest, text...)
}

func machine(tweak func(*corev1.Node)) RequestFunc {
	return func(context.Context, *Env) Request {
		node := fixtures.Node("e2e-machine-7")
		node.Spec.Taints = []corev1.Taint{{Key: "e2e.bulkhead.dev/pool", Value: "pii", Effect: corev1.TaintEffectNoSchedule}}
		tweak(node)
		return Create(api.Nodes).With(node)
	}
}

func pool(value string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels = map[string]string{"e2e.bulkhead.dev/pool": value} }
}

func located(ip string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: ip}}
	}
}

var _ = Describe("the operator's configuration", Serial, Ordered, Label(Disruptive, OnHost, OnHardened), func() {
	BeforeAll(func(ctx SpecContext) { suite.Configure(ctx, narrow) })

	DescribeTable("limits the number of objects of a node:", admit,
		Entry("mirror pod at the limit of one: admitted", Allows("NR-POD-10"), mirror()),
		Entry("another one above the limit: denied", Denies("NR-POD-10"), full(aMirrorPod, mirror()), asMany),
		Entry("slice at the limit of one: admitted", Allows("NR-SLICE-3"), newSlice(own)),
		Entry("another one above the limit: denied", Denies("NR-SLICE-3"), full(aSlice, newSlice(own)), asMany),
		Entry("pod certificate request at the limit of one: admitted", Allows("NR-PCR-6"), certificate()),
		Entry("another one above the limit: denied", Denies("NR-PCR-6"), full(aPodCertificateRequest, certificate()), asMany),
		Entry("certificate signing request at the limit of one: admitted", Allows("NR-CSR-5"), newCSR(client)),
		Entry("another one above the limit: denied", Denies("NR-CSR-5"), full(aSigningRequest, newCSR(client)), asMany),
	)

	DescribeTable("lists machines:", asMachine,
		Entry("registration with the taint of its row: admitted", Allows("NR-MACHINE-1"), machine(func(*corev1.Node) {})),
		Entry("registration without the taint of its row: denied", Denies("NR-MACHINE-1"),
			machine(func(node *corev1.Node) { node.Spec.Taints = nil }),
			"e2e.bulkhead.dev/pool"),
		Entry("registration with the taint that machine-table-controller replaces: admitted", Allows("NR-MACHINE-1"),
			machine(func(node *corev1.Node) {
				node.Spec.Taints = []corev1.Taint{{Key: "bulkhead.dev/uninitialized", Effect: corev1.TaintEffectNoSchedule}}
			})),
		Entry("registration with the label of its row: admitted", Allows("NR-MACHINE-2"), machine(pool("pii"))),
		Entry("registration with another label than that of its row: denied", Denies("NR-MACHINE-2"),
			machine(pool("general")), "e2e.bulkhead.dev/pool"),
		Entry("address of its row: admitted", Allows("NR-MACHINE-3"), machine(located("192.0.2.70"))),
		Entry("address of another row: denied", Denies("NR-MACHINE-3"), machine(located("192.0.2.71")),
			`address "192.0.2.71": the machine table has others`),
	)

	Describe("sticky taints:", func() {
		It("a Node is registered again with its taints: admitted", Allows("NR-STICKY-1"), func(ctx SpecContext) {
			compromised(ctx)
			admit(ctx, registering(func(_ *Env, node *corev1.Node) { node.Spec.Taints = stickyTaints() }))
		})
		It("a Node is registered again without its taints: denied", Denies("NR-STICKY-1"), func(ctx SpecContext) {
			compromised(ctx)
			admit(ctx, registering(), sticky)
		})
		It("a Node with its sticky taints is patched: admitted", Allows("NR-STICKY-2"), func(ctx SpecContext) {
			node := tainted(ctx)
			admit(ctx, func(context.Context, *Env) Request {
				return Patch(api.Nodes).Named(node.Name).Sub("status").With(status("phase", "Running"))
			})
		})
		It("a Node that was registered again without its taints is patched: denied", Denies("NR-STICKY-2"),
			func(ctx SpecContext) {
				compromised(ctx)
				suite.Env().Node(ctx, suite.Env().Own)
				remembered(ctx, "absent")
				admit(ctx, func(context.Context, *Env) Request {
					return Patch(api.Nodes).Named(suite.Env().Own).Sub("status").With(status("phase", "Running"))
				}, sticky)
			})
		It("a Node registers with 16 sticky taints: admitted", Allows("NR-STICKY-3"),
			func(ctx SpecContext) { admit(ctx, registering(withTaints(16))) })
		It("a Node registers with 17 sticky taints: denied", Denies("NR-STICKY-3"),
			func(ctx SpecContext) { admit(ctx, registering(withTaints(17)), "more than 16 taints") })
	})
})

const sticky = "e2e.bulkhead.dev/sticky-compromised"

func stickyTaints() []corev1.Taint {
	return []corev1.Taint{{Key: sticky, Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
}

// tainted creates the Env's own Node with a sticky taint, and waits until node-restriction has
// stored the taint.
func tainted(ctx SpecContext) *corev1.Node {
	GinkgoHelper()
	node := fixtures.Node(suite.Env().Own)
	node.Labels = map[string]string{FakeNodeLabel: "true"}
	node.Spec.Taints = stickyTaints()
	suite.Env().Put(ctx, node)
	DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, "bulkhead taints clear "+node.Name) })
	remembered(ctx, sticky)
	return node
}

// compromised creates a tainted Node and deletes it.
func compromised(ctx SpecContext) {
	GinkgoHelper()
	node := tainted(ctx)
	suite.Env().Remove(ctx, node)
}

func remembered(ctx SpecContext, what string) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) {
		there, err := suite.Client.CoreV1().ConfigMaps("kube-system").Get(ctx, "bulkhead-node-restriction",
			metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return there.Data[suite.Env().Own], nil
	}).WithTimeout(Soon).WithPolling(100 * time.Millisecond).Should(ContainSubstring(what))
}

func withTaints(n int) func(*Env, *corev1.Node) {
	return func(_ *Env, node *corev1.Node) {
		for i := range n {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
				Key: strings.Replace(sticky, "compromised", fmt.Sprint(i), 1), Effect: corev1.TaintEffectNoSchedule,
			})
		}
	}
}

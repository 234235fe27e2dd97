// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// registering creates the Env's own Node. The tweaks edit the Node.
func registering(tweaks ...func(*Env, *corev1.Node)) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		node := fixtures.Node(e.Own)
		for _, tweak := range tweaks {
			tweak(e, node)
		}
		return Create(api.Nodes).With(node)
	}
}

func withLabel(key string) func(*Env, *corev1.Node) {
	return func(_ *Env, node *corev1.Node) { node.Labels = map[string]string{key: "any"} }
}

const (
	onlyItself      = "is not allowed to modify node"
	notTheseLabels  = "is not allowed to set the following labels"
	notToSetLabels  = "is not allowed to modify labels"
	notTaints       = "is not allowed to modify taints"
	notOwners       = "is not allowed to modify ownerReferences"
	instanceType    = corev1.LabelInstanceTypeStable
	nodeRestriction = "node-restriction.kubernetes.io/pci"
)

var _ = DescribeTable("a node that registers itself", admit,
	Entry("creates its own Node", Allows("NR-NODE-1"), registering()),
	Entry("does not create another Node", Denies("NR-NODE-1"),
		registering(func(e *Env, node *corev1.Node) { node.Name = e.Other }), onlyItself),
	Entry("does not create a Node with generateName", Denies("NR-NODE-1"), registering(func(e *Env, node *corev1.Node) {
		node.Name, node.GenerateName = "", e.Own+"-"
	}), onlyItself),

	Entry("sets labels of kubelets", Allows("NR-NODE-3"), registering(withLabel(instanceType))),
	Entry("does not set labels that Kubernetes reserves", Denies("NR-NODE-3"),
		registering(withLabel("node-role.kubernetes.io/control-plane")), notTheseLabels),
	Entry("does not set labels that nodes may not set", Denies("NR-NODE-3"), registering(withLabel(nodeRestriction)),
		notTheseLabels),
)

var _ = DescribeTable("a node that updates a Node", admit,
	Entry("writes to its own", Allows("NR-NODE-1"),
		registered(own, Patch(api.Nodes).With(metadata("labels", fields{instanceType: "big"})))),
	Entry("does not write to another node's", Denies("NR-NODE-1"),
		registered(other, Patch(api.Nodes).With(metadata("labels", fields{instanceType: "big"}))), onlyItself),
	Entry("writes its own status", Allows("NR-NODE-1"),
		registered(own, Patch(api.Nodes).Sub("status").With(status("phase", "Running")))),
	Entry("does not write another node's status", Denies("NR-NODE-1"),
		registered(other, Patch(api.Nodes).Sub("status").With(status("phase", "Running"))), onlyItself),

	Entry("changes a label of kubelets", Allows("NR-NODE-3"),
		registered(own, Patch(api.Nodes).With(metadata("labels", fields{instanceType: "big"})))),
	Entry("does not add a label that Kubernetes reserves", Denies("NR-NODE-3"),
		registered(own, Patch(api.Nodes).With(metadata("labels", fields{"node-role.kubernetes.io/control-plane": ""}))),
		notToSetLabels),
	Entry("does not add a label that nodes may not set", Denies("NR-NODE-3"),
		registered(own, Patch(api.Nodes).With(metadata("labels", fields{nodeRestriction: "any"}))), notToSetLabels),

	Entry("does not change its taints", Allows("NR-NODE-4"), registered(own, Patch(api.Nodes).With(fields{}))),
	Entry("does not remove its taints", Denies("NR-NODE-4"),
		registered(own, Patch(api.Nodes).With(spec("taints", []any{}))), notTaints),

	Entry("sets no owner", Allows("NR-NODE-5"), registered(own, Patch(api.Nodes).With(fields{}))),
	Entry("does not set an owner", Denies("NR-NODE-5"),
		registered(own, Patch(api.Nodes).With(metadata("ownerReferences", []any{
			fields{"apiVersion": "v1", "kind": "Namespace", "name": "gone", "uid": "gone"},
		}))), notOwners),

	Entry("does not add a finalizer", DeniesBeyond("NR-NODE-7", Behind),
		registered(own, Patch(api.Nodes).With(metadata("finalizers", []any{"bulkhead.dev/e2e"}))), "finalizers"),
)

var _ = DescribeTable("a node that registers with an owner", admit,
	Entry("sets no owner", Allows("NR-NODE-7"), registering()),
	Entry("does not set an owner that does not exist", DeniesBeyond("NR-NODE-7", Behind),
		registering(func(_ *Env, node *corev1.Node) {
			node.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "gone", UID: "gone"}}
		}), "ownerReferences"),
)

func configured(_ *Env, node *corev1.Node) {
	//nolint:staticcheck // the field is what the rule is about
	node.Spec.ConfigSource = &corev1.NodeConfigSource{ConfigMap: &corev1.ConfigMapNodeConfigSource{
		Namespace: "default", Name: "any", KubeletConfigKey: "kubelet",
	}}
}

// The in-tree plugin sees the object as sent. The API server drops the field before it calls a
// webhook. So where only Bulkhead decides, there is nothing left to reject. unsent_test.go sends
// the field to the webhook directly.
var _ = It("a node does not set a configSource", Denies("NR-NODE-2"), func(ctx SpecContext) {
	who, request := suite.AsNode(suite.Env().Own), registering(configured)(ctx, suite.Env())
	if suite.Settings.Profile == Parity {
		node, ok := request.Body.(*corev1.Node)
		Expect(ok).To(BeTrue())
		made := must(must(who.Client()).CoreV1().Nodes().Create(ctx, node,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
		Expect(made.Spec.ConfigSource).To(BeNil()) //nolint:staticcheck // the field is what the rule is about
		return
	}
	code, message, err := who.Send(ctx, request)
	Expect(err).NotTo(HaveOccurred())
	Expect(code).To(Equal(http.StatusForbidden), message)
	Expect(message).To(ContainSubstring("non-nil configSource"))
})

var _ = It("a node registers without a configSource", Allows("NR-NODE-2"),
	func(ctx SpecContext) { admit(ctx, registering()) })

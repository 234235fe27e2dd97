// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// inNamespaceWith creates a mirror pod in a namespace whose default annotations are changed. nil
// removes an annotation.
func inNamespaceWith(annotations fields, tweaks ...func(*Env, *corev1.Pod)) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		annotate(ctx, e.Namespace(ctx), annotations)
		return mirror(tweaks...)(ctx, e)
	}
}

func annotate(ctx context.Context, namespace string, annotations fields) {
	GinkgoHelper()
	patch := must(json.Marshal(metadata("annotations", annotations)))
	_, err := suite.Client.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, patch, metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// labels and annotations add a key to a mirror pod.
func labels(key string) func(*Env, *corev1.Pod) {
	return func(_ *Env, pod *corev1.Pod) { pod.Labels = map[string]string{key: "any"} }
}

func annotations(key string) func(*Env, *corev1.Pod) {
	return func(_ *Env, pod *corev1.Pod) { pod.Annotations[key] = "any" }
}

const allowedKeys = "node.kubernetes.io/mirror.allowed-label-keys"

var listed, listedTier = fields{allowedKeys: " component , k8s-app"}, fields{allowedKeys: "component,tier"}

// etcdAddress is the annotation by which kubeadm finds the members of etcd. Profile hardened lists it.
const etcdAddress = "kubeadm.kubernetes.io/etcd.advertise-client-urls"

func likeEtcd(_ *Env, pod *corev1.Pod) {
	pod.Labels = map[string]string{"component": "etcd", "tier": "control-plane"}
}

// onControlPlane makes the Env's own node a control-plane node before the request.
func onControlPlane(makeRequest RequestFunc) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		GinkgoHelper()
		e.Node(ctx, e.Own)
		patch := must(json.Marshal(metadata("labels", fields{"node-role.kubernetes.io/control-plane": ""})))
		must(suite.Client.CoreV1().Nodes().Patch(ctx, e.Own, types.MergePatchType, patch, metav1.PatchOptions{}))
		return makeRequest(ctx, e)
	}
}

// Parity has no configuration, and so none of these rules.
var _ = DescribeTable("a mirror pod", Label(OnHardened), admit,
	Entry("in a namespace that allows mirror pods: admitted", Allows("NR-MIRROR-1"), mirror()),
	Entry("in a namespace without the annotation: denied", Denies("NR-MIRROR-1"),
		inNamespaceWith(fields{fixtures.MirrorAllowed: nil}),
		fixtures.MirrorAllowed),
	Entry("in a namespace that forbids mirror pods: denied", Denies("NR-MIRROR-1"),
		inNamespaceWith(fields{fixtures.MirrorAllowed: "false"}), fixtures.MirrorAllowed),

	Entry("with a label that its namespace lists: admitted", Allows("NR-MIRROR-2"),
		inNamespaceWith(listed, labels("component"))),
	Entry("with a label that its namespace does not list: denied", Denies("NR-MIRROR-2"),
		inNamespaceWith(listed, labels("app")),
		"and it does not list app"),
	Entry("with a label, in a namespace without a list: denied", Denies("NR-MIRROR-2"), mirror(labels("component")),
		"and it does not list component"),

	Entry("with a listed label that is not on the deny list: admitted", Allows("NR-MIRROR-3"),
		inNamespaceWith(listed, labels("component"))),
	Entry("with the label k8s-app, although it is listed: denied", Denies("NR-MIRROR-3"),
		inNamespaceWith(listed, labels("k8s-app")),
		"must not create mirror pods with the following labels: k8s-app"),

	Entry("with the label of the control plane on a control-plane node: admitted", Allows("NR-MIRROR-6"),
		onControlPlane(inNamespaceWith(listedTier, likeEtcd))),
	Entry("with the label of the control plane on another node: denied", Denies("NR-MIRROR-6"),
		inNamespaceWith(listedTier, likeEtcd), "the label tier=control-plane if its Node has the label"),
	Entry("with an annotation of kubeadm on a control-plane node: admitted", Allows("NR-MIRROR-6"),
		onControlPlane(mirror(annotations(etcdAddress)))),
	Entry("with an annotation of kubeadm on another node: denied", Denies("NR-MIRROR-6"), mirror(annotations(etcdAddress)),
		"an annotation under kubeadm.kubernetes.io/ if its Node has the label"),

	Entry("with the name that a kubelet sets: admitted", Allows("NR-MIRROR-5"), mirror()),
	Entry("with the name of another node's mirror pod: denied", Denies("NR-MIRROR-5"),
		mirror(func(e *Env, pod *corev1.Pod) {
			pod.Name = "kube-apiserver-" + e.Other
		}), "whose names end in"),
	Entry("with a finalizer: denied", Denies("NR-MIRROR-5"), mirror(func(_ *Env, pod *corev1.Pod) {
		pod.Finalizers = []string{"bulkhead.dev/e2e"}
	}), "that have no finalizers"),

	Entry("with the annotations of kubelets: admitted", Allows("NR-MIRROR-4"),
		mirror(annotations("kubernetes.io/config.hash"))),
	Entry("with an annotation under unrestricted.node.kubernetes.io: admitted", Allows("NR-MIRROR-4"),
		mirror(annotations("unrestricted.node.kubernetes.io/any"))),
	Entry("with another annotation: denied", Denies("NR-MIRROR-4"), mirror(annotations("prometheus.io/scrape")),
		"must not create mirror pods with the following annotations: prometheus.io/scrape"),
)

// T6: a status update must not set a label that a create could not set.
var _ = It("the status of a mirror pod with a label that is not listed: admitted", Allows("NR-POD-6"),
	func(ctx SpecContext) {
		admit(ctx, podOn(own, aboutPod(Patch(api.Pods).Sub("status").With(status("message", "well"))), labelled))
	})

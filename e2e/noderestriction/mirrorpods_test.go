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

var listed = fields{allowedKeys: " component , k8s-app"}

// Parity has no configuration, and so none of these rules.
var _ = DescribeTable("a mirror pod", Label(OnHardened), admit,
	Entry("is made in a namespace that takes them", Allows("NR-MIRROR-1"), mirror()),
	Entry("is not made in one that does not", Denies("NR-MIRROR-1"), inNamespaceWith(fields{fixtures.MirrorAllowed: nil}),
		fixtures.MirrorAllowed),
	Entry("is not made in one that says so", Denies("NR-MIRROR-1"),
		inNamespaceWith(fields{fixtures.MirrorAllowed: "false"}), fixtures.MirrorAllowed),

	Entry("has a label that its namespace lists", Allows("NR-MIRROR-2"), inNamespaceWith(listed, labels("component"))),
	Entry("has none that its namespace does not list", Denies("NR-MIRROR-2"), inNamespaceWith(listed, labels("app")),
		"and it does not list app"),
	Entry("has none where nothing is listed", Denies("NR-MIRROR-2"), mirror(labels("component")),
		"and it does not list component"),

	Entry("has a label that nobody denies", Allows("NR-MIRROR-3"), inNamespaceWith(listed, labels("component"))),
	Entry("has no k8s-app, whatever is listed", Denies("NR-MIRROR-3"), inNamespaceWith(listed, labels("k8s-app")),
		"must not create mirror pods with the following labels: k8s-app"),

	Entry("has the name that a kubelet gives it", Allows("NR-MIRROR-5"), mirror()),
	Entry("does not take another node's place", Denies("NR-MIRROR-5"), mirror(func(e *Env, pod *corev1.Pod) {
		pod.Name = "kube-apiserver-" + e.Other
	}), "whose names end in"),
	Entry("goes when it is deleted", Denies("NR-MIRROR-5"), mirror(func(_ *Env, pod *corev1.Pod) {
		pod.Finalizers = []string{"bulkhead.dev/e2e"}
	}), "that have no finalizers"),

	Entry("has the annotations of the kubelet", Allows("NR-MIRROR-4"), mirror(annotations("kubernetes.io/config.hash"))),
	Entry("has one that says it is unrestricted", Allows("NR-MIRROR-4"),
		mirror(annotations("unrestricted.node.kubernetes.io/any"))),
	Entry("has no other", Denies("NR-MIRROR-4"), mirror(annotations("prometheus.io/scrape")),
		"must not create mirror pods with the following annotations: prometheus.io/scrape"),
)

// T6: a status update must not set a label that a create could not set.
var _ = It("a mirror pod with a label that is not listed keeps its status", Allows("NR-POD-6"), func(ctx SpecContext) {
	admit(ctx, podOn(own, aboutPod(Patch(api.Pods).Sub("status").With(status("message", "well"))), labelled))
})

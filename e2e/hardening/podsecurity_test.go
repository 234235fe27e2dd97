// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hardening_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// podSecurity is the volume that manifests/hardening/kubeadm/pod-security.yaml gives to
// kube-apiserver. It says that the setting is on, also if the server does not use the file.
const podSecurity = "pod-security"

// podSecurityIsOn reads the API server's pod, not what the server does. The pod is absent for a moment
// after a restart, and always in a cluster that kubeadm did not make.
func podSecurityIsOn(ctx context.Context) bool {
	GinkgoHelper()
	_, err := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false
	}
	Expect(err).NotTo(HaveOccurred())
	var server *corev1.Pod
	Eventually(ctx, func() error {
		server, err = suite.Client.CoreV1().Pods(metav1.NamespaceSystem).Get(ctx, "kube-apiserver-"+suite.ControlPlane,
			metav1.GetOptions{})
		return err
	}).WithTimeout(Soon).WithPolling(time.Second).Should(Succeed())
	return slices.ContainsFunc(server.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == podSecurity })
}

// Bulkhead's file replaces the one of the setting at kube-apiserver. These specs show that the
// installer has kept the plugin PodSecurity.
var _ = Describe("the setting pod-security", Ordered, ContinueOnFailure, func() {
	var plain, labeled string

	BeforeAll(func(ctx SpecContext) {
		if !podSecurityIsOn(ctx) {
			Skip("kube-apiserver has no volume " + podSecurity + ": the setting is off (docs/hardening.md)")
		}
		e := suite.Env()
		labeled = e.Namespace(ctx)
		plain = e.NewName("e2e-plain")
		e.Put(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plain}})
		e.Put(ctx, fixtures.ServiceAccount(plain, fixtures.Account))
	})

	create := func(ctx context.Context, namespace string, tweaks ...fixtures.PodTweak) error {
		_, err := suite.Client.CoreV1().Pods(namespace).Create(ctx,
			fixtures.Pod(namespace, "e2e-pod-security", suite.ControlPlane, tweaks...),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}

	compare := func(ctx SpecContext, tweak fixtures.PodTweak, reason string) {
		By("the same pod without the field: admitted in a namespace without a label")
		Expect(create(ctx, plain)).To(Succeed())
		By("with the field: denied there")
		Expect(create(ctx, plain, tweak)).To(MatchError(ContainSubstring(
			`violates PodSecurity "baseline:latest": ` + reason)))
		By("with the field: admitted in a namespace with the label enforce=privileged")
		Expect(create(ctx, labeled, tweak)).To(Succeed())
		By("with the field: admitted in kube-system, which is exempt")
		Expect(create(ctx, metav1.NamespaceSystem, tweak, fixtures.As("default"))).To(Succeed())
	}

	DescribeTable("a pod that differs from a baseline pod in one field: denied without a label", compare,
		Entry("privileged", func(pod *corev1.Pod) {
			pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		}, `privileged (container "pause"`),
		Entry("hostNetwork", func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }, "host namespaces (hostNetwork=true)"),
		Entry("hostPath", fixtures.Using("host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}),
			`hostPath volumes (volume "host")`),
	)
})

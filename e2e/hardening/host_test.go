// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hardening_test

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

// skipWithoutFlag skips a spec if the running kube-apiserver lacks a flag.
func skipWithoutFlag(ctx context.Context, flag, setting string) {
	GinkgoHelper()
	arguments := suite.OnControlPlane(ctx, `tr '\0' '\n' </proc/$(pgrep -x kube-apiserver)/cmdline`)
	if !strings.Contains(arguments, flag+"=") {
		Skip("kube-apiserver has no flag " + flag + ": the setting " + setting + " is off (docs/hardening.md)")
	}
}

var _ = Describe("the setting encryption", Label(OnHost), func() {
	It("keeps the values of Secrets out of etcd's files", func(ctx SpecContext) {
		skipWithoutFlag(ctx, "--encryption-provider-config", "encryption")
		e := suite.Env()
		namespace := e.Namespace(ctx)
		name := metav1.ObjectMeta{Namespace: namespace, Name: "e2e-at-rest"}
		e.Put(ctx,
			&corev1.ConfigMap{ObjectMeta: name, Data: map[string]string{"value": "plain-" + namespace}},
			&corev1.Secret{ObjectMeta: name, StringData: map[string]string{"value": "secret-" + namespace}})
		filesWith := func(text string) string {
			return suite.OnControlPlane(ctx, "grep -rlaF "+text+" /var/lib/etcd/member || test $? = 1")
		}
		By("finding the value of a ConfigMap there")
		Expect(filesWith("plain-" + namespace)).NotTo(BeEmpty())
		By("finding the name of the Secret, and not its value")
		Expect(filesWith("/registry/secrets/" + namespace + "/e2e-at-rest")).NotTo(BeEmpty())
		Expect(filesWith("secret-" + namespace)).To(BeEmpty())
	})
})

var _ = Describe("the setting anonymous", Label(OnHost), func() {
	It("limits requests without credentials to health and the ConfigMap for kubeadm join", func(ctx SpecContext) {
		skipWithoutFlag(ctx, "--authentication-config", "anonymous")
		for path, code := range map[string]string{
			"/livez": "200", "/readyz": "200", "/api/v1/namespaces/kube-public/configmaps/cluster-info": "200",
			"/version": "401", "/api": "401", "/readyz/ping": "401", "/api/v1/namespaces/kube-public/configmaps": "401",
		} {
			Expect(suite.OnControlPlane(ctx, "curl -sk -o /dev/null --max-time 10 -w '%{http_code}' "+
				"https://127.0.0.1:6443"+path)).To(Equal(code), path)
		}
	})
})

var _ = Describe("the setting kubelet", Label(OnHost), func() {
	// confined reads the mode of the process: 2 is a filter (man proc_pid_status).
	confined := func(ctx context.Context, tweaks ...fixtures.PodTweak) string {
		GinkgoHelper()
		pod := suite.Env().Pod(ctx, suite.Worker, append(tweaks, fixtures.WithShell("shell", "sleep 3600"))...)
		Eventually(ctx, func() (corev1.PodPhase, error) {
			pod, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			return pod.Status.Phase, err
		}).WithTimeout(PodStart).WithPolling(time.Second).Should(Equal(corev1.PodRunning))
		out, err := suite.Exec(ctx, pod, "/bin/grep", "Seccomp:", "/proc/self/status")
		Expect(err).NotTo(HaveOccurred())
		return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(out), "Seccomp:"))
	}

	It("gives a pod without a seccomp profile that of the runtime", Label(OnWorker), func(ctx SpecContext) {
		config, err := suite.Client.CoreV1().RESTClient().Get().
			AbsPath(fmt.Sprintf("/api/v1/nodes/%s/proxy/configz", suite.Worker)).DoRaw(ctx)
		Expect(err).NotTo(HaveOccurred())
		if !strings.Contains(string(config), `"seccompDefault":true`) {
			Skip("the worker's kubelet has seccompDefault: false: the setting kubelet is off (docs/hardening.md)")
		}
		Expect(confined(ctx)).To(Equal("2"))
		By("the same pod with the profile Unconfined")
		Expect(confined(ctx, func(pod *corev1.Pod) {
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}}
		})).To(Equal("0"))
	})
})

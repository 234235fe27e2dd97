// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hardening_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// flagsOf returns the command of a control-plane component in its manifest, and of its process.
func flagsOf(ctx context.Context, component string) (manifest, process []string) {
	GinkgoHelper()
	var pod corev1.Pod
	text := suite.OnControlPlane(ctx, "cat /etc/kubernetes/manifests/"+component+".yaml")
	Expect(yaml.Unmarshal([]byte(text), &pod)).To(Succeed())
	Expect(pod.Spec.Containers).NotTo(BeEmpty())
	// The kernel truncates the name of a process to 15 characters.
	running := suite.OnControlPlane(ctx, fmt.Sprintf(`tr '\0' '\n' </proc/$(pgrep -x %.15s)/cmdline`, component))
	return pod.Spec.Containers[0].Command, strings.Split(running, "\n")
}

var _ = Describe("flags of the control plane", Label(OnHost), func() {
	expectFlags := func(ctx context.Context, component string, flags ...any) {
		GinkgoHelper()
		manifest, process := flagsOf(ctx, component)
		Expect(manifest).To(ContainElements(flags...))
		Expect(process).To(ContainElements(flags...))
	}

	It("the setting audit limits the files of the audit log", func(ctx SpecContext) {
		skipWithout(ctx, "audit")
		const log = "/var/log/kubernetes/audit/audit.log"
		expectFlags(ctx, "kube-apiserver", "--audit-policy-file=/etc/kubernetes/audit/policy.yaml",
			"--audit-log-path="+log, "--audit-log-maxage=30", "--audit-log-maxbackup=10", "--audit-log-maxsize=100")
		suite.OnControlPlane(ctx, "test -s "+log)
	})

	It("the setting pod-gc limits the ended pods that are kept", func(ctx SpecContext) {
		skipWithout(ctx, "pod-gc")
		expectFlags(ctx, "kube-controller-manager", "--terminated-pod-gc-threshold=1000")
	})
})

var _ = Describe("the setting kubelet", Label(OnHost), func() {
	It("limits the process IDs of a pod", Label(OnWorker), func(ctx SpecContext) {
		skipWithout(ctx, "kubelet")
		for _, node := range []string{suite.ControlPlane, suite.Worker} {
			text, err := suite.Client.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes", node, "proxy/configz").DoRaw(ctx)
			Expect(err).NotTo(HaveOccurred())
			var config struct {
				Kubelet struct {
					PodPidsLimit int64 `json:"podPidsLimit"`
				} `json:"kubeletconfig"`
			}
			Expect(json.Unmarshal(text, &config)).To(Succeed())
			Expect(config.Kubelet.PodPidsLimit).To(BeEquivalentTo(4096), node)
		}
	})
})

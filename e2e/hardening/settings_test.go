// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hardening_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = Describe("the setting profiling", Label(OnHost), func() {
	It("leaves /debug/pprof out of kube-apiserver, also for an administrator", func(ctx SpecContext) {
		skipWithoutFlag(ctx, "--profiling", "profiling")
		status := func(path string) string {
			return suite.OnControlPlane(ctx, "kubectl --kubeconfig=/etc/kubernetes/admin.conf get --raw "+path+
				" >/dev/null 2>/tmp/e2e-raw && echo found || grep -o NotFound /tmp/e2e-raw")
		}
		Expect(status("/debug/pprof/cmdline")).To(ContainSubstring("NotFound"))
		Expect(status("/version")).To(ContainSubstring("found"))
	})
})

var _ = Describe("the setting tls", Label(OnHost), func() {
	It("accepts only cipher suites with AES-GCM and forward secrecy at kube-apiserver", func(ctx SpecContext) {
		skipWithoutFlag(ctx, "--tls-cipher-suites", "tls")
		livez := func(cipher string) string {
			return suite.OnControlPlane(ctx, "curl -sSk --max-time 10 --tls-max 1.2 --ciphers "+cipher+
				" https://127.0.0.1:6443/livez 2>&1 || true")
		}
		Expect(livez("ECDHE-RSA-AES128-GCM-SHA256")).To(Equal("ok"))
		Expect(livez("ECDHE-RSA-AES128-SHA")).To(ContainSubstring("handshake failure"))
	})
})

// skipWithout skips a spec if the cluster was created without the setting.
func skipWithout(ctx context.Context, setting string) {
	GinkgoHelper()
	const marker = "/kind/bulkhead-created-from"
	if !slices.Contains(strings.Fields(suite.OnControlPlane(ctx, "cat "+marker+" 2>/dev/null || true")), setting) {
		Skip(marker + " does not name the setting " + setting + ": it is off (docs/hardening.md)")
	}
}

var _ = Describe("a setting of the nodes", Label(OnHost), func() {
	It("file-modes lets only root read the kubelet's configuration", func(ctx SpecContext) {
		skipWithout(ctx, "file-modes")
		Expect(suite.OnControlPlane(ctx, "stat -c '%a %U' /var/lib/kubelet/config.yaml")).To(HavePrefix("600 root"))
	})

	It("etcd-owner gives etcd's data to the user etcd", func(ctx SpecContext) {
		skipWithout(ctx, "etcd-owner")
		Expect(suite.OnControlPlane(ctx, "stat -c '%a %U' /var/lib/etcd")).To(HavePrefix("700 etcd"))
	})
})

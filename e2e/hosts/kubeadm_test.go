// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// long is the label of specs that make ha-full runs and make test does not.
const long = "long"

// upgradeApply and upgradeNode write the static pods of a host again, from kubeadm's configuration
// and for the same version. Some checks do not fit nodes that are containers.
const (
	upgradeApply = "kubeadm upgrade apply --yes --force --ignore-preflight-errors=all "
	upgradeNode  = "kubeadm upgrade node --ignore-preflight-errors=all"
)

// While some hosts have Bulkhead and others do not, kubeadm must work on each of them. The specs run
// in order.
var _ = Describe("kubeadm on a cluster where one of three hosts has no Bulkhead", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, Slow, long), func() {
		var (
			hosts   []corev1.Node
			install string
			apply   string
		)

		BeforeAll(func(ctx SpecContext) {
			hosts = findControlPlanes(ctx)
			expectNotInstalled(ctx, hosts)
			install = "bulkhead install --profile=hardened --kubelet-api=false --image=" +
				componentImage(ctx, hosts[0].Name) + " 2>&1"
			server, err := suite.Client.Discovery().ServerVersion()
			Expect(err).NotTo(HaveOccurred())
			apply = upgradeApply + "v" + version.MustParseGeneric(server.GitVersion).String()
			DeferCleanup(func(ctx context.Context) {
				for _, host := range hosts {
					onHost(ctx, host.Name, "bulkhead uninstall 2>&1")
				}
				expectNotInstalled(ctx, hosts)
			})
			for _, host := range hosts[:2] {
				onHost(ctx, host.Name, install)
			}
		})

		It("upgrades the host without Bulkhead", func(ctx SpecContext) {
			kubeadm(ctx, hosts[2].Name, upgradeNode)
			expectServing(ctx, hosts[2].Name)
		})

		It("renews the certificates of a host with Bulkhead", func(ctx SpecContext) {
			kubeadm(ctx, hosts[0].Name, "kubeadm certs renew all")
			expectServing(ctx, hosts[0].Name)
			expectDecides(ctx, &hosts[0])
		})

		It("upgrades a host with Bulkhead, which takes Bulkhead out until it is installed again", Denies("NA-NODE-1"),
			func(ctx SpecContext) {
				kubeadm(ctx, hosts[0].Name, apply)
				expectServing(ctx, hosts[0].Name)
				out, err := suite.Host.Run(ctx, hosts[1].Name, "bulkhead status --cluster --kubeconfig=/etc/kubernetes/admin.conf")
				Expect(err).To(HaveOccurred(), out)
				Expect(err.Error() + out).To(ContainSubstring(hosts[0].Name))
				onHost(ctx, hosts[0].Name, install)
				expectDecides(ctx, &hosts[0])
			})

		It("joins a worker", func(ctx SpecContext) {
			machine := suite.Env().NewMachine(ctx, MachineName())
			machine.Join(ctx, suite.Env().BootstrapToken(ctx))
		})

		It("joins a control plane that is not prepared", func(ctx SpecContext) {
			machine := suite.Env().NewMachine(ctx, MachineName())
			machine.JoinControlPlane(ctx, suite.Env().BootstrapToken(ctx))
		})

		It("joins a control plane that is prepared", func(ctx SpecContext) {
			machine := suite.Env().NewMachine(ctx, MachineName())
			machine.PrepareControlPlane(ctx)
			machine.JoinControlPlane(ctx, suite.Env().BootstrapToken(ctx))
		})

		It("upgrades every host when all have Bulkhead, which stays", Denies("NA-NODE-1"), func(ctx SpecContext) {
			onHost(ctx, hosts[2].Name, install)
			Expect(kubeadmConfig(ctx)).To(ContainSubstring(namedFile))
			kubeadm(ctx, hosts[0].Name, apply)
			for _, host := range hosts[1:] {
				kubeadm(ctx, host.Name, upgradeNode)
			}
			for i := range hosts {
				expectServing(ctx, hosts[i].Name)
				expectDecides(ctx, &hosts[i])
			}
			onHost(ctx, hosts[0].Name, "bulkhead status --cluster --kubeconfig=/etc/kubernetes/admin.conf")
		})
	})

// kubeadm runs a command of kubeadm on a host and reports how long it took.
func kubeadm(ctx context.Context, host, command string) {
	GinkgoHelper()
	begun := time.Now()
	GinkgoWriter.Println(onHost(ctx, host, command+" 2>&1"))
	Measured(command+" on "+host, time.Since(begun).Round(time.Second).String())
}

// expectServing waits until the API server of the host is ready.
func expectServing(ctx context.Context, host string) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) {
		return suite.Host.Run(ctx, host, "kubectl --kubeconfig=/etc/kubernetes/admin.conf --server=https://127.0.0.1:6443 "+
			"get --raw=/readyz")
	}).WithTimeout(ServerSwitch).WithPolling(time.Second).Should(Equal("ok"), host)
}

// expectDecides expects that node-authorizer decides at the API server of the host.
func expectDecides(ctx context.Context, host *corev1.Node) {
	GinkgoHelper()
	node := suite.AsNode(suite.Worker).At(address(host))
	code, message, err := node.Send(ctx, Get(api.Nodes).Named(host.Name))
	Expect(err).NotTo(HaveOccurred())
	Expect(code).To(Equal(403))
	Expect(message).To(ContainSubstring("[NA-NODE-1]"), host.Name)
	code, message, err = node.Send(ctx, Get(api.Nodes).Named(suite.Worker))
	Expect(err).NotTo(HaveOccurred())
	Expect(code).To(Equal(200), message)
}

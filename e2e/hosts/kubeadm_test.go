// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// long is the label of specs that make ha-full runs and make test does not.
const long = "long"

// upgradeApply and upgradeNode write the static pods of a host again, from kubeadm's configuration.
// Some checks do not fit nodes that are containers.
const (
	upgradeApply = " upgrade apply --yes --force --ignore-preflight-errors=all "
	upgradeNode  = " upgrade node --ignore-preflight-errors=all"
	// newerKubeadm is the path of a kubeadm of the next patch version.
	newerKubeadm = "/usr/local/bin/e2e-kubeadm"
)

// While some hosts have Bulkhead and others do not, kubeadm must work on each of them. The specs run
// in order. Each begins with a cluster where kubeadm can be run, so a failure does not stop the next ones.
var _ = Describe("kubeadm on a cluster where one of three hosts has no Bulkhead", Serial, Ordered, ContinueOnFailure,
	Label(Disruptive, OnHost, OnWorker, Slow, long), func() {
		var (
			hosts   []corev1.Node
			install string
			current *version.Version
		)

		BeforeAll(func(ctx SpecContext) {
			hosts = findControlPlanes(ctx)
			expectNotInstalled(ctx, hosts)
			install = "bulkhead install --profile=hardened --kubelet-api=false --image=" +
				componentImage(ctx, hosts[0].Name) + " 2>&1"
			server, err := suite.Client.Discovery().ServerVersion()
			Expect(err).NotTo(HaveOccurred())
			current = version.MustParseGeneric(server.GitVersion)
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
			kubeadm(ctx, hosts[2].Name, "kubeadm"+upgradeNode)
			expectServing(ctx, hosts[2].Name)
		})

		It("renews the certificates of a host with Bulkhead", func(ctx SpecContext) {
			kubeadm(ctx, hosts[0].Name, "kubeadm certs renew all")
			// kube-apiserver reads most of the certificates only when it starts.
			restartServer(ctx, hosts[0].Name)
			expectDecides(ctx, &hosts[0])
		})

		It("upgrades a host with Bulkhead, which takes Bulkhead out until it is installed again", Denies("NA-NODE-1"),
			func(ctx SpecContext) {
				kubeadm(ctx, hosts[0].Name, "kubeadm"+upgradeApply+"v"+current.String())
				expectServing(ctx, hosts[0].Name)
				Eventually(ctx, func() (string, error) {
					return suite.Host.Run(ctx, hosts[1].Name, clusterStatus+"; test $? = 2")
				}).WithTimeout(reported).WithPolling(time.Second).Should(And(
					MatchRegexp(`FAIL +`+hosts[0].Name+` +kube-apiserver does not use Bulkhead's file`),
					MatchRegexp(`FAIL +`+hosts[2].Name+` +Bulkhead is not installed`)))
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

		It("joins a control plane that is prepared, and shows its static pods", func(ctx SpecContext) {
			machine := suite.Env().NewMachine(ctx, MachineName())
			machine.PrepareControlPlane(ctx)
			machine.JoinControlPlane(ctx, suite.Env().BootstrapToken(ctx))
			expectStaticPods(ctx, machine.Name)
		})

		It("resets a control plane that had Bulkhead, and joins it again", Denies("NA-NODE-1"), func(ctx SpecContext) {
			machine, node := joinWithBulkhead(ctx, componentImage(ctx, hosts[0].Name), install)
			machine.Run(ctx, "bulkhead uninstall 2>&1")
			kubeadm(ctx, machine.Name, "kubeadm reset --force")
			for i := range hosts {
				expectServing(ctx, hosts[i].Name)
			}
			Expect(suite.Client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{})).To(Succeed())
			machine.PrepareControlPlane(ctx)
			node = machine.JoinControlPlane(ctx, suite.Env().BootstrapToken(ctx))
			machine.Run(ctx, install)
			expectDecides(ctx, node)
			machine.Run(ctx, "bulkhead uninstall 2>&1")
		})

		// This and the next spec follow docs/operations.md: "A host was reset without `bulkhead uninstall`".
		It("resets a control plane without bulkhead uninstall, and joins it again", Denies("NA-NODE-1"),
			func(ctx SpecContext) {
				machine, _ := joinWithBulkhead(ctx, componentImage(ctx, hosts[0].Name), install)
				resetWithBulkhead(ctx, machine, hosts[:2], install)
				expectServing(ctx, hosts[2].Name)
				// kubeadm-config does not name Bulkhead's files, so the join needs no `bulkhead prepare`.
				Expect(kubeadmConfig(ctx)).NotTo(ContainSubstring(namedFile))
				node := machine.JoinControlPlane(ctx, suite.Env().BootstrapToken(ctx))
				machine.Run(ctx, install)
				expectDecides(ctx, node)
				Eventually(ctx, func() (string, error) {
					return suite.Host.Run(ctx, hosts[1].Name, clusterStatus+"; test $? = 2")
				}).WithTimeout(reported).WithPolling(time.Second).Should(And(
					MatchRegexp(machine.Name+` +installed `), Not(MatchRegexp(`FAIL +`+machine.Name)),
					MatchRegexp(`FAIL +`+hosts[2].Name+` +Bulkhead is not installed`)))
				machine.Run(ctx, "bulkhead uninstall 2>&1")
			})

		It("resets a control plane without bulkhead uninstall when all hosts have Bulkhead, and joins it again",
			Denies("NA-NODE-1"), func(ctx SpecContext) {
				onHost(ctx, hosts[2].Name, install)
				machine, _ := joinWithBulkhead(ctx, componentImage(ctx, hosts[0].Name), install)
				resetWithBulkhead(ctx, machine, hosts, install)
				// kubeadm-config names Bulkhead's files, so the join needs `bulkhead prepare`.
				Expect(kubeadmConfig(ctx)).To(ContainSubstring(namedFile))
				machine.PrepareControlPlane(ctx)
				node := machine.JoinControlPlane(ctx, suite.Env().BootstrapToken(ctx))
				machine.Run(ctx, install)
				expectDecides(ctx, node)
				eventuallyHealthy(ctx, hosts[0].Name)
				// The machine is removed with Bulkhead on it: `bulkhead uninstall` would edit kubeadm-config for all
				// hosts. The next installation removes its entry.
			})

		It("upgrades Kubernetes when all hosts have Bulkhead, which stays", Denies("NA-NODE-1"), func(ctx SpecContext) {
			onHost(ctx, hosts[2].Name, install)
			Expect(kubeadmConfig(ctx)).To(ContainSubstring(namedFile))
			next := "v" + current.WithPatch(current.Patch()+1).String()
			putNewerKubeadm(ctx, hosts, "v"+current.String(), next)
			kubeadm(ctx, hosts[0].Name, newerKubeadm+upgradeApply+next)
			for _, host := range hosts[1:] {
				kubeadm(ctx, host.Name, newerKubeadm+upgradeNode)
			}
			for _, host := range hosts {
				Expect(onHost(ctx, host.Name, "cat "+APIServerManifest)).To(ContainSubstring("kube-apiserver:" + next))
			}
			for i := range hosts {
				expectServing(ctx, hosts[i].Name)
				expectDecides(ctx, &hosts[i])
			}
			eventuallyHealthy(ctx, hosts[0].Name)
		})
	})

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"context"
	"strings"
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
// in order.
var _ = Describe("kubeadm on a cluster where one of three hosts has no Bulkhead", Serial, Ordered,
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
			expectServing(ctx, hosts[0].Name)
			expectDecides(ctx, &hosts[0])
		})

		It("upgrades a host with Bulkhead, which takes Bulkhead out until it is installed again", Denies("NA-NODE-1"),
			func(ctx SpecContext) {
				kubeadm(ctx, hosts[0].Name, "kubeadm"+upgradeApply+"v"+current.String())
				expectServing(ctx, hosts[0].Name)
				Eventually(ctx, func() (string, error) {
					return suite.Host.Run(ctx, hosts[1].Name, clusterStatus+" || test $? = 2")
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

		It("joins a control plane that is prepared", func(ctx SpecContext) {
			machine := suite.Env().NewMachine(ctx, MachineName())
			machine.PrepareControlPlane(ctx)
			machine.JoinControlPlane(ctx, suite.Env().BootstrapToken(ctx))
		})

		It("resets a control plane that had Bulkhead, and joins it again", Denies("NA-NODE-1"), func(ctx SpecContext) {
			machine := suite.Env().NewMachine(ctx, MachineName())
			machine.PrepareControlPlane(ctx)
			node := machine.JoinControlPlane(ctx, suite.Env().BootstrapToken(ctx))
			machine.CopyImage(ctx, componentImage(ctx, hosts[0].Name))
			machine.Run(ctx, install)
			expectDecides(ctx, node)
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

// kubeadm runs a command of kubeadm on a host and reports how long it took.
func kubeadm(ctx context.Context, host, command string) {
	GinkgoHelper()
	begun := time.Now()
	GinkgoWriter.Println(onHost(ctx, host, command+" 2>&1"))
	Measured(command+" on "+host, time.Since(begun).Round(time.Second).String())
}

// putNewerKubeadm builds kubeadm with the next version, and gives the current images of the control
// plane that version too. So kubeadm upgrades as from one patch release to the next.
func putNewerKubeadm(ctx context.Context, hosts []corev1.Node, current, next string) {
	GinkgoHelper()
	major, minor, _ := strings.Cut(strings.TrimPrefix(next, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	const pkg = "k8s.io/component-base/version."
	program := buildProgram(ctx, "../../kind/node-image/kubernetes", "k8s.io/kubernetes/cmd/kubeadm",
		"-X "+pkg+"gitVersion="+next+" -X "+pkg+"gitMajor="+major+" -X "+pkg+"gitMinor="+minor)
	for _, host := range hosts {
		Expect(suite.Host.Put(ctx, host.Name, newerKubeadm, program)).To(Succeed())
		for _, image := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"} {
			name := "registry.k8s.io/" + image + ":"
			onHost(ctx, host.Name, "ctr --namespace k8s.io images tag --force "+name+current+" "+name+next)
		}
	}
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

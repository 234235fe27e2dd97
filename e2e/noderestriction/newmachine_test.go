// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"crypto/x509"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// machineOf returns the machine's name as its node name.
func machineOf(m *NewMachine) func(context.Context, *Env) string {
	return func(context.Context, *Env) string { return m.Name }
}

var _ = Describe("a machine that joins with kubeadm", Serial, Label(Disruptive, Slow, OnHost, OnWorker, OnHardened),
	func() {
		BeforeEach(func(ctx SpecContext) { TakeMachine(ctx) })

		It("becomes a new worker, and joins again after its Node was deleted", SlowSpec, Allows("NR-BOOT-3"), func(
			ctx SpecContext) {
			env := suite.Env()
			machine, token := env.NewMachine(ctx, MachineName()), env.BootstrapToken(ctx)
			before := machine.Join(ctx, token)

			By("losing its credential: the token does not replace it while the Node exists")
			machine.Run(ctx, "kubeadm reset --force 2>&1")
			machine.Run(ctx, "test ! -e /etc/kubernetes/kubelet.conf")
			again := joining(client, machineOf(machine))(ctx, env)
			suite.ExpectRefusedWrite(ctx, suite.AsBearer(token), again,
				Refusal{By: "NR-BOOT-3", Text: "an administrator deletes the Node first"})

			By("deleting its Node, and joining with a new address")
			useNewAddress(ctx, machine)
			Expect(suite.Client.CoreV1().Nodes().Delete(ctx, machine.Name, metav1.DeleteOptions{})).To(Succeed())
			after := machine.Join(ctx, token)
			Expect(after.UID).NotTo(Equal(before.UID))
			Expect(InternalIP(after)).NotTo(Equal(InternalIP(before)))
		})
	})

// useNewAddress gives the machine a second address of its network, which its kubelet reports from the
// next start on.
func useNewAddress(ctx context.Context, machine *NewMachine) {
	GinkgoHelper()
	machine.Run(ctx, `set -eu
cidr=$(ip -4 -o address show dev eth0 | awk '{print $4; exit}')
new=$(echo "$cidr" | cut -d. -f1-3).231
ip address add "$new/${cidr#*/}" dev eth0
sed -i "s#^KUBELET_EXTRA_ARGS=#&--node-ip=$new #" /etc/default/kubelet
grep -q "node-ip=$new" /etc/default/kubelet`)
}

var _ = Describe("a machine that joins the control plane with kubeadm", Serial, Ordered,
	Label(Disruptive, Slow, OnHost, OnWorker, OnHardened), func() {
		var machine *NewMachine
		var node *corev1.Node

		BeforeAll(func(ctx SpecContext) {
			TakeMachine(ctx)
			machine = suite.Env().NewMachine(ctx, MachineName())
			machine.PrepareControlPlane(ctx)
			node = machine.JoinControlPlane(ctx, suite.Env().BootstrapToken(ctx))
			// A new API server adds itself to the slice within ten seconds.
			Eventually(ctx, func() (string, error) {
				slice, err := suite.Client.DiscoveryV1().EndpointSlices("default").Get(ctx, "kubernetes", metav1.GetOptions{})
				return slice.String(), err
			}).WithTimeout(Soon).WithPolling(time.Second).Should(ContainSubstring(InternalIP(node)),
				"an endpoint of default/kubernetes")
		})

		It("becomes a new control-plane node, and its name is rejected for other machines", Allows("NR-BOOT-3"),
			func(ctx SpecContext) {
				env := suite.Env()
				Expect(node.Labels).To(HaveKey("node-role.kubernetes.io/control-plane"))
				suite.ExpectRefusedWrite(ctx, suite.AsBearer(env.BootstrapToken(ctx)),
					joining(client, machineOf(machine))(ctx, env),
					Refusal{By: "NR-BOOT-3", Text: "exists: its kubelet renews"})
			})

		// Without its Node, only the API server's certificate still has the machine's name.
		It("does not request a certificate with its API server's name or address, even without a Node", Denies("NR-CSR-2"),
			func(ctx SpecContext) {
				env := suite.Env()
				machine.Run(ctx, "systemctl stop kubelet")
				Expect(suite.Client.CoreV1().Nodes().Delete(ctx, machine.Name, metav1.DeleteOptions{})).To(Succeed())
				ip := InternalIP(node)
				claim := func(tweak func(*x509.CertificateRequest)) Request {
					makeRequest := newCSR(serving, func(_ *Env, r *x509.CertificateRequest) { tweak(r) })
					request := makeRequest(ctx, env)
					patchStatus(ctx, env.Own, fields{"addresses": []any{
						fields{"type": "Hostname", "address": env.Own}, fields{"type": "InternalIP", "address": env.Address()},
						fields{"type": "InternalDNS", "address": machine.Name}, fields{"type": "ExternalIP", "address": ip},
					}})
					return request
				}
				own := suite.AsNode(env.Own)
				suite.ExpectWritten(ctx, own, claim(func(*x509.CertificateRequest) {}))
				suite.ExpectRefusedWrite(ctx, own, claim(func(r *x509.CertificateRequest) { r.DNSNames = []string{machine.Name} }),
					Refusal{By: "NR-CSR-2", Text: `"` + machine.Name + `" is the API server's`})
				suite.ExpectRefusedWrite(ctx, own,
					claim(func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.ParseIP(ip)} }),
					Refusal{By: "NR-CSR-2", Text: `"` + ip + `" is the API server's`})
			})
	})

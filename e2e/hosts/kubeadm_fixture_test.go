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

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

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

// expectStaticPods waits for the mirror pods by which kubeadm finds the control plane. NR-MIRROR-6 denies them
// until kubeadm has labelled the Node. Then the kubelet tries again, at the next sync of the pod.
func expectStaticPods(ctx context.Context, node string) {
	GinkgoHelper()
	const nextSync = 3 * time.Minute
	for _, name := range []string{"etcd-" + node, "kube-apiserver-" + node} {
		Eventually(ctx, func() error {
			_, err := suite.Client.CoreV1().Pods(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
			return err
		}).WithTimeout(nextSync).WithPolling(time.Second).Should(Succeed(), "mirror pod %s", name)
	}
}

// joinWithBulkhead joins a new machine to the control plane, and installs Bulkhead on it.
func joinWithBulkhead(ctx context.Context, image, install string) (*NewMachine, *corev1.Node) {
	GinkgoHelper()
	machine := suite.Env().NewMachine(ctx, MachineName())
	machine.PrepareControlPlane(ctx)
	node := machine.JoinControlPlane(ctx, suite.Env().BootstrapToken(ctx))
	machine.CopyImage(ctx, image)
	machine.Run(ctx, install)
	expectDecides(ctx, node)
	return machine, node
}

// resetWithBulkhead resets a control-plane host without `bulkhead uninstall`, and deletes its Node. The
// API servers of the other hosts, which have Bulkhead, serve and decide. The next installation on one of
// them removes the entry of the host. Bulkhead's files stay on the host.
func resetWithBulkhead(ctx context.Context, machine *NewMachine, others []corev1.Node, install string) {
	GinkgoHelper()
	Expect(hostEntries(ctx)).To(HaveKey(machine.Name))
	kubeadm(ctx, machine.Name, "kubeadm reset --force")
	for i := range others {
		expectServing(ctx, others[i].Name)
		expectDecides(ctx, &others[i])
	}
	Expect(suite.Client.CoreV1().Nodes().Delete(ctx, machine.Name, metav1.DeleteOptions{})).To(Succeed())
	onHost(ctx, others[0].Name, install)
	Expect(hostEntries(ctx)).NotTo(HaveKey(machine.Name))
	machine.Run(ctx, "test -e "+StateDirectory+"/state/record.json && test ! -e "+ComponentManifest)
}

// hostEntries returns the entries of the hosts that have Bulkhead, by the name of the Node.
func hostEntries(ctx context.Context) map[string]string {
	GinkgoHelper()
	config, err := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "bulkhead-hosts",
		metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return config.Data
}

// restartServer ends the process of kube-apiserver on the host, as docs/install.md does, and waits until
// a new process is ready.
func restartServer(ctx context.Context, host string) {
	GinkgoHelper()
	const process = "pgrep -x kube-apiserver"
	old := onHost(ctx, host, process)
	onHost(ctx, host, "kill "+old)
	Eventually(ctx, func() error {
		_, err := suite.Host.Run(ctx, host, "new=$("+process+") && test \"$new\" != '"+old+"'")
		return err
	}).WithTimeout(ServerSwitch).WithPolling(time.Second).Should(Succeed(), "a new process of kube-apiserver on %s", host)
	expectServing(ctx, host)
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

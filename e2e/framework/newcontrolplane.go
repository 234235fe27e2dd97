// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// etcdctl runs a command of etcd in the container of a control-plane host.
const etcdctl = `crictl exec $(crictl ps --name '^etcd$' -q | head -1) etcdctl --endpoints=https://127.0.0.1:2379 ` +
	`--cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/server.crt --key=/etc/kubernetes/pki/etcd/server.key `

// JoinControlPlane makes the machine a further control-plane host, as docs/install.md
// says, and waits until its API server is ready. Afterwards the machine leaves etcd before
// it is removed: two members of which one is gone are no quorum.
func (m *NewMachine) JoinControlPlane(ctx context.Context, token Bearer) *corev1.Node {
	ginkgo.GinkgoHelper()
	m.copyFromControlPlane(ctx, "/usr/local/bin/bulkhead")
	// The audit policy of the reference cluster, which the API server's manifest names.
	m.copyFromControlPlane(ctx, "/etc/kubernetes/audit")
	m.Run(ctx, "bulkhead prepare --profile=hardened")
	key := strings.TrimSpace(m.Run(ctx, "kubeadm certs certificate-key"))
	ginkgo.DeferCleanup(func(ctx context.Context) {
		_ = m.Client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, "kubeadm-certs", metav1.DeleteOptions{})
	})
	_, err := m.Host.Run(ctx, m.ControlPlane, "kubeadm init phase upload-certs --upload-certs --certificate-key="+key)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(m.leaveControlPlane)
	node := m.Join(ctx, token, "--control-plane", "--certificate-key="+key)
	gomega.Eventually(ctx, func() error {
		_, err := m.Host.Run(ctx, m.Name, "kubectl --kubeconfig=/etc/kubernetes/admin.conf --server=https://127.0.0.1:6443 get --raw=/readyz")
		return err
	}).WithTimeout(NodeReady).WithPolling(time.Second).Should(gomega.Succeed(), "the API server of %s", m.Name)
	return node
}

// leaveControlPlane has kubeadm take the machine's member out of etcd, and does it itself
// where that has not helped. It comes before the machine is removed, and fails the spec
// if a member is left.
func (m *NewMachine) leaveControlPlane(ctx context.Context) {
	ginkgo.GinkgoHelper()
	_, reset := m.Host.Run(ctx, m.Name, "kubeadm reset --force 2>&1")
	remove := fmt.Sprintf(`id=$(%[1]s member list | grep ', %[2]s, ' | cut -d, -f1); test -z "$id" || %[1]s member remove "$id"`, etcdctl, m.Name)
	gomega.Eventually(ctx, func() (string, error) {
		members, err := m.Host.Run(ctx, m.ControlPlane, etcdctl+"member list")
		if err == nil && strings.Contains(members, m.Name) {
			_, err = m.Host.Run(ctx, m.ControlPlane, remove)
		}
		return members, err
	}).WithTimeout(NodeReady).WithPolling(time.Second).ShouldNot(gomega.ContainSubstring(m.Name), "members of etcd, after %v", reset)
	gomega.Eventually(ctx, func() (string, error) {
		out, err := m.Host.Run(ctx, m.ControlPlane, "kubectl --kubeconfig=/etc/kubernetes/admin.conf get --raw=/readyz")
		return out, err
	}).WithTimeout(NodeReady).WithPolling(time.Second).Should(gomega.Equal("ok"), "the API server that stays")
}

// copyFromControlPlane copies a file or a directory to the same place on the machine.
func (m *NewMachine) copyFromControlPlane(ctx context.Context, path string) {
	ginkgo.GinkgoHelper()
	parent := path[:strings.LastIndexByte(path, '/')]
	script := fmt.Sprintf("docker exec %s tar -C / -chf - %s | docker exec -i %s tar -C / -xf -", m.ControlPlane, path[1:], m.Name)
	out, err := exec.CommandContext(ctx, "sh", "-c", script).CombinedOutput()
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "copying %s to %s: %s", path, parent, out)
}

// MachineName is a name for a machine that no other spec uses.
func MachineName() string { return "e2e-machine-" + rand.String(6) }

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

// askEtcd sends a request to the etcd of a control-plane host through its JSON gateway. The etcd
// image has no etcdctl.
const askEtcd = "curl -sS --fail --max-time 10 --cacert /etc/kubernetes/pki/etcd/ca.crt --cert " +
	"/etc/kubernetes/pki/etcd/server.crt " +
	"--key /etc/kubernetes/pki/etcd/server.key -X POST -d '%s' https://127.0.0.1:2379/v3/cluster/member/%s"

// PrepareControlPlane makes the files that kube-apiserver needs to start on the machine, as
// docs/install.md describes. Call it before JoinControlPlane if kubeadm's configuration names them.
func (m *NewMachine) PrepareControlPlane(ctx context.Context) {
	ginkgo.GinkgoHelper()
	m.CopyProgram(ctx)
	m.copyDirectories(ctx, "pod-security")
	m.Run(ctx, "bulkhead prepare --profile=hardened "+m.admissionFlag(ctx))
}

// admissionFlag returns the flag for the AdmissionConfiguration that kube-apiserver had before
// Bulkhead, as the ConfigMap of the hosts has it.
func (m *NewMachine) admissionFlag(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	config, err := m.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, hosts.ConfigMapName, metav1.GetOptions{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	known, unknown := hosts.Parse(config.Data)
	gomega.Expect(unknown).To(gomega.BeEmpty())
	for _, host := range known {
		if host.AdmissionConfig != "" {
			return "--admission-control-config-file=" + host.AdmissionConfig
		}
	}
	return ""
}

// copyDirectories copies directories in /etc/kubernetes from the control plane. What is turned off has
// no directory.
func (m *NewMachine) copyDirectories(ctx context.Context, names string) {
	ginkgo.GinkgoHelper()
	there, err := m.Host.Run(ctx, m.ControlPlane, "cd /etc/kubernetes && ls -d "+names+" 2>/dev/null || true")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for _, directory := range strings.Fields(there) {
		m.copyFromControlPlane(ctx, "/etc/kubernetes/"+directory)
	}
}

// JoinControlPlane makes the machine an additional control-plane host, and waits until its API
// server is ready. During cleanup, the machine leaves etcd before it is removed: an etcd of two
// members has no quorum when one is gone.
func (m *NewMachine) JoinControlPlane(ctx context.Context, token Bearer) *corev1.Node {
	ginkgo.GinkgoHelper()
	// The API server's manifest refers to files of the reference cluster (docs/hardening.md).
	m.copyDirectories(ctx, "audit encryption hardening pod-security")
	key := strings.TrimSpace(m.Run(ctx, "kubeadm certs certificate-key"))
	ginkgo.DeferCleanup(m.removeCertificates)
	_, err := m.Host.Run(ctx, m.ControlPlane, "kubeadm init phase upload-certs --upload-certs --certificate-key="+key)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(m.leaveControlPlane)
	node := m.Join(ctx, token, "--control-plane", "--certificate-key="+key)
	gomega.Eventually(ctx, func() error {
		_, err := m.Host.Run(ctx, m.Name,
			"kubectl --kubeconfig=/etc/kubernetes/admin.conf --server=https://127.0.0.1:6443 get --raw=/readyz")
		return err
	}).WithTimeout(ServerSwitch).WithPolling(time.Second).Should(gomega.Succeed(), "the API server of %s", m.Name)
	return node
}

// removeCertificates removes the certificates that `kubeadm init phase upload-certs` stored, and
// the token that owns them.
func (m *NewMachine) removeCertificates(ctx context.Context) error {
	secrets := m.Client.CoreV1().Secrets(metav1.NamespaceSystem)
	stored, err := secrets.Get(ctx, "kubeadm-certs", metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	problems := []error{secrets.Delete(ctx, stored.Name, metav1.DeleteOptions{})}
	for _, owner := range stored.OwnerReferences {
		problems = append(problems, secrets.Delete(ctx, owner.Name, metav1.DeleteOptions{}))
	}
	return errors.Join(problems...)
}

// leaveControlPlane removes the machine's member from etcd while both members run, and then runs
// kubeadm's cleanup on the machine. kubeadm alone would leave the member where it cannot find the
// machine's Node. This runs before the machine is removed. It fails the spec if a member remains.
func (m *NewMachine) leaveControlPlane(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() (bool, error) {
		id, err := m.member(ctx)
		if err == nil && id != "" {
			_, err = m.Host.Run(ctx, m.ControlPlane, fmt.Sprintf(askEtcd, `{"ID":"`+id+`"}`, "remove"))
		}
		return id == "", err
	}).WithTimeout(ServerSwitch).WithPolling(time.Second).Should(gomega.BeTrue(), "%s is not a member of etcd", m.Name)
	_, reset := m.Host.Run(ctx, m.Name, "kubeadm reset --force 2>&1")
	gomega.Eventually(ctx, func() (string, error) {
		return m.Host.Run(ctx, m.ControlPlane, "kubectl --kubeconfig=/etc/kubernetes/admin.conf get --raw=/readyz")
	}).WithTimeout(ServerSwitch).WithPolling(time.Second).Should(gomega.Equal("ok"),
		"the remaining API server; kubeadm reset: %v", reset)
}

// member returns the ID of the machine's etcd member, or an empty string if there is none. A member
// that has not started yet has no name.
func (m *NewMachine) member(ctx context.Context) (id string, err error) {
	out, err := m.Host.Run(ctx, m.ControlPlane, fmt.Sprintf(askEtcd, "{}", "list"))
	if err != nil {
		return "", err
	}
	var list struct {
		Members []struct{ ID, Name string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return "", fmt.Errorf("reading the members of etcd: %w", err)
	}
	for _, member := range list.Members {
		if member.Name == m.Name || member.Name == "" {
			return member.ID, nil
		}
	}
	return "", nil
}

// copyFromControlPlane copies a file or a directory to the same path on the machine.
func (m *NewMachine) copyFromControlPlane(ctx context.Context, path string) {
	ginkgo.GinkgoHelper()
	m.pipe(ctx, "tar -C / -chf - "+path[1:], "tar -C / -xf -")
}

// CopyProgram gives the machine the program bulkhead of the control plane, at the same path.
func (m *NewMachine) CopyProgram(ctx context.Context) {
	ginkgo.GinkgoHelper()
	m.copyFromControlPlane(ctx, "/usr/local/bin/bulkhead")
}

// CopyImage gives the machine an image of the control plane, as a registry would. On a busy machine,
// `ctr images export -` can lose the end of the image, so a file is copied that is known to be complete.
func (m *NewMachine) CopyImage(ctx context.Context, image string) {
	ginkgo.GinkgoHelper()
	const ctr = "ctr --namespace k8s.io images "
	file := "/var/" + m.Name + ".tar"
	ginkgo.DeferCleanup(func(ctx context.Context) error {
		_, err := m.Host.Run(ctx, m.ControlPlane, "rm -f "+file)
		return err
	})
	gomega.Eventually(ctx, func() error {
		// The index is the last file of the image.
		_, err := m.Host.Run(ctx, m.ControlPlane, ctr+"export "+file+" "+image+" && tar -tf "+file+" oci-layout index.json")
		return err
	}).WithTimeout(3 * time.Minute).WithPolling(time.Second).Should(gomega.Succeed())
	m.copyFromControlPlane(ctx, file)
	m.Run(ctx, ctr+"import "+file+" && rm "+file)
}

// pipe runs a command on the control plane, and sends its output to a command on the machine. docker can
// lose the end of a long output, so pipe tries three times. Both commands must be harmless if repeated.
func (m *NewMachine) pipe(ctx context.Context, from, to string) {
	ginkgo.GinkgoHelper()
	script := fmt.Sprintf("docker exec %s %s | docker exec -i %s %s", m.ControlPlane, from, m.Name, to)
	for attempt := 1; ; attempt++ {
		out, err := exec.CommandContext(ctx, "sh", "-c", script).CombinedOutput()
		if err == nil {
			return
		}
		ginkgo.AddReportEntry("copying to the machine failed", string(out))
		if attempt == 3 || ctx.Err() != nil {
			gomega.Expect(err).NotTo(gomega.HaveOccurred(), "%s: %s", script, out)
		}
	}
}

// MachineName returns a machine name that no other spec uses.
func MachineName() string { return "e2e-joining-" + rand.String(6) }

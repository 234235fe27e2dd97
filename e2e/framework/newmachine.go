// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
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
)

// joinTime bounds `kubeadm join` and the time until the Node is Ready.
const joinTime = 10 * time.Minute

// NewMachine is a host of the reference cluster that has not joined the cluster yet. It is another
// container of the nodes' own image in their network. Its name is the name of its future Node, and
// [Host.Run] can reach it.
type NewMachine struct {
	*Cluster
	Name string
	// podCIDR is the podCIDR of the Node. It is empty until the Node exists.
	podCIDR string
	// removed is true after remove. Then another machine may have the name.
	removed bool
}

// NewMachine starts a machine. It removes the machine and its Node after the spec, or after the
// container whose BeforeAll calls this. Outside of the reference cluster the spec is skipped.
func (e *Env) NewMachine(ctx context.Context, name string) *NewMachine {
	ginkgo.GinkgoHelper()
	if !strings.HasPrefix(e.Settings.NodeExec, "docker ") {
		ginkgo.Skip("only the reference cluster can have further machines")
	}
	image, err := docker(ctx, "inspect", "--format", `{{.Image}} {{index .Config.Labels "io.x-k8s.kind.cluster"}}`,
		e.ControlPlane)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	of := strings.Fields(image)
	gomega.Expect(of).To(gomega.HaveLen(2), "image and kind cluster of %s: %q", e.ControlPlane, image)
	m := &NewMachine{Cluster: e.Cluster, Name: name}
	ginkgo.DeferCleanup(m.remove)
	// The same arguments as kind uses to start a node (sigs.k8s.io/kind
	// pkg/cluster/internal/providers/docker). With kind's label, `make down` removes what an
	// aborted run leaves.
	_, err = docker(ctx, "run", "--detach", "--tty", "--name", name, "--hostname", name,
		"--label", "io.x-k8s.kind.cluster="+of[1], "--label", "io.x-k8s.kind.role=worker", "--net", "kind", "--restart=no",
		"--init=false", "--cgroupns=private", "--privileged", "--security-opt", "seccomp=unconfined",
		"--security-opt", "apparmor=unconfined", "--tmpfs", "/tmp", "--tmpfs", "/run", "--volume", "/var",
		"--volume", "/lib/modules:/lib/modules:ro", "--env", "KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER", of[0])
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Eventually(ctx, func() error {
		_, err := e.Host.Run(ctx, name, "systemctl is-active containerd")
		return err
	}).WithTimeout(NodeReady).WithPolling(time.Second).Should(gomega.Succeed(), "containerd of %s", name)
	return m
}

// ReplaceMachine removes a machine and its Node. It returns a new machine of the same name, with a new disk
// and a new address.
func (e *Env) ReplaceMachine(ctx context.Context, m *NewMachine) *NewMachine {
	ginkgo.GinkgoHelper()
	image, err := docker(ctx, "inspect", "--format", "{{.Image}}", m.Name)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(m.remove(ctx)).To(gomega.Succeed())
	// The engine gives a free address to the next container. So another container takes this one first.
	holder := m.Name + "-address"
	ginkgo.DeferCleanup(func(ctx context.Context) error {
		_, err := docker(ctx, "rm", "--force", holder)
		return err
	})
	_, err = docker(ctx, "run", "--detach", "--name", holder, "--net", "kind", "--entrypoint", "sleep", image, "3600")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return e.NewMachine(ctx, m.Name)
}

// Run runs a script on the machine. The script must succeed.
func (m *NewMachine) Run(ctx context.Context, script string) string {
	ginkgo.GinkgoHelper()
	out, err := m.Host.Run(ctx, m.Name, script)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return out
}

// Join runs `kubeadm join` with the token and further flags, connects the machine to the pod
// network, and waits until its Node is Ready.
func (m *NewMachine) Join(ctx context.Context, token Bearer, flags ...string) *corev1.Node {
	ginkgo.GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	out, err := m.TryJoin(ctx, token, flags...)
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), out)
	var node *corev1.Node
	gomega.Eventually(ctx, func() (string, error) {
		node, err = m.Client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return node.Spec.PodCIDR, nil
	}).WithTimeout(ControllerManager).WithPolling(time.Second).ShouldNot(gomega.BeEmpty(), "the podCIDR of %s", m.Name)
	gomega.Expect(m.connect(ctx, node)).To(gomega.Succeed())
	gomega.Eventually(ctx, func() (bool, error) {
		node, err = m.Client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
		return err == nil && IsReady(node), err
	}).WithTimeout(NodeReady).WithPolling(time.Second).Should(gomega.BeTrue(), "%s is Ready", m.Name)
	return node
}

// TryJoin runs `kubeadm join` and returns its output. It skips the preflight checks as kind does,
// because these checks do not fit containers.
func (m *NewMachine) TryJoin(ctx context.Context, token Bearer, flags ...string) (string, error) {
	pin, err := pinOf(m.config.CAData)
	if err != nil {
		return "", err
	}
	return m.Host.Run(ctx, m.Name,
		fmt.Sprintf("kubeadm join %s:6443 --token=%s --discovery-token-ca-cert-hash=%s --node-name=%s "+
			"--skip-phases=preflight %s 2>&1",
			m.ControlPlane, token.Token, pin, m.Name, strings.Join(flags, " ")))
}

// pinOf returns the public key pin by which kubeadm verifies the cluster's CA.
func pinOf(authority []byte) (string, error) {
	block, _ := pem.Decode(authority)
	if block == nil {
		return "", errors.New("the kubeconfig has no certificate authority")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("reading the certificate authority: %w", err)
	}
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// connect adds the machine to the pod network of the reference cluster, as `make up` does
// (kind/refcluster/network.go).
func (m *NewMachine) connect(ctx context.Context, node *corev1.Node) error {
	m.podCIDR = node.Spec.PodCIDR
	conflist, err := m.Host.Run(ctx, m.ControlPlane, "cat "+podNetwork)
	if err != nil {
		return err
	}
	if _, err := m.Host.Run(ctx, m.Name, "cat >"+podNetwork+" <<'END-OF-FILE'\n"+conflist+"END-OF-FILE\n"); err != nil {
		return err
	}
	if err := m.FollowPodCIDR(ctx, m.Name, ""); err != nil {
		return err
	}
	list, err := m.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "!" + FakeNodeLabel})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for i := range list.Items {
		if peer := &list.Items[i]; peer.Name != m.Name {
			if _, err := m.Host.Run(ctx, m.Name, routeScript("", peer.Spec.PodCIDR, InternalIP(peer))); err != nil {
				return err
			}
		}
	}
	return nil
}

// UseRange makes the machine's pod network use a range that is not the Node's podCIDR, as network
// plugins with their own address pool do.
func (m *NewMachine) UseRange(ctx context.Context, cidr string) {
	ginkgo.GinkgoHelper()
	m.Run(ctx, rangeScript(podNetwork, cidr))
}

// remove removes the Node, the routes to it and the machine. A second call does nothing.
func (m *NewMachine) remove(ctx context.Context) error {
	if m.removed {
		return nil
	}
	err := m.Client.CoreV1().Nodes().Delete(ctx, m.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		err = nil
	}
	problems := []error{err}
	if m.podCIDR != "" {
		for _, peer := range []string{m.ControlPlane, m.Worker} {
			_, err := m.Host.Run(ctx, peer, "ip route del "+m.podCIDR+" 2>/dev/null || true")
			problems = append(problems, err)
		}
	}
	err = errors.Join(append(problems, m.removeContainer(ctx))...)
	m.removed = err == nil
	return err
}

// removeContainer removes the machine's container. On a busy machine, the engine can fail to kill its
// processes in time. A second attempt finds them dead.
func (m *NewMachine) removeContainer(ctx context.Context) (err error) {
	for range 3 {
		if _, err = docker(ctx, "rm", "--force", "--volumes", m.Name); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(5 * time.Second):
		}
	}
	return err
}

// docker runs a command of the container engine that runs the reference cluster.
func docker(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, tail(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// release is a version of Bulkhead for these specs: the program of this checkout, with its own
// version and its own name of the image.
type release struct{ version, program, image string }

// The specs install, upgrade and downgrade under load, with kubelet-auth-proxy on all nodes. Hosts with
// both versions serve at the same time. The hosts share one DaemonSet, which has the version of the last
// run. The specs run in order.
var _ = Describe("two versions of Bulkhead on three control planes", Serial, Ordered,
	Label(Disruptive, OnHost, OnWorker, Slow, long), func() {
		var (
			hosts, nodes []corev1.Node
			older, newer release
			clients      *probers
		)

		BeforeAll(func(ctx SpecContext) {
			hosts = findControlPlanes(ctx)
			expectNotInstalled(ctx, hosts)
			nodes = findNodes(ctx)
			older, newer = putRelease(ctx, hosts, nodes, "v0.9.0"), putRelease(ctx, hosts, nodes, "v0.10.0")
			DeferCleanup(func(ctx context.Context) {
				uninstallAll(ctx, hosts, nodes)
				expectNotInstalled(ctx, hosts)
			})
			clients = startProbers(ctx)
			DeferCleanup(clients.end)
		})

		// The order is that of docs/install.md: the hosts, the nodes, and the hosts again.
		It("begin with the older one, and with kubelet-auth-proxy on all nodes", Denies("NA-NODE-1"),
			func(ctx SpecContext) {
				for _, host := range hosts {
					onHost(ctx, host.Name, older.install())
					older.expectProxies(ctx, hosts, nodes)
				}
				for _, node := range nodes {
					Expect(onHost(ctx, node.Name, "bulkhead node install 2>&1")).To(ContainSubstring("to its proxy only."))
				}
				older.expectProxies(ctx, hosts, nodes)
				for _, host := range hosts {
					onHost(ctx, host.Name, older.install())
					Expect(onHost(ctx, host.Name, "cat "+APIServerManifest)).
						To(ContainSubstring("--kubelet-certificate-authority="))
					older.expectProxies(ctx, hosts, nodes)
				}
				expectDecideAlike(ctx, hosts)
				Eventually(ctx, func() (string, error) {
					return suite.Host.Run(ctx, hosts[0].Name, clusterStatus)
				}).WithTimeout(reported).WithPolling(time.Second).
					Should(ContainSubstring(fmt.Sprintf("kubelets guarded: %d\n", len(nodes))))
			})

		It("are installed one after the other, and decide alike meanwhile", Denies("NA-NODE-1"), func(ctx SpecContext) {
			for _, host := range hosts {
				onHost(ctx, host.Name, newer.install())
				newer.expectProxies(ctx, hosts, nodes)
				expectDecideAlike(ctx, hosts)
			}
		})

		It("refuse a downgrade that nobody asked for", func(ctx SpecContext) {
			out, err := suite.Host.Run(ctx, hosts[1].Name, older.install())
			Expect(err).To(HaveOccurred(), out)
			Expect(err.Error()).To(And(ContainSubstring(newer.version), ContainSubstring("--allow-downgrade")))
			Expect(onHost(ctx, hosts[1].Name, newer.install())).To(ContainSubstring("Nothing had to be changed"))
		})

		It("are downgraded one after the other, and decide alike meanwhile", Denies("NA-NODE-1"), func(ctx SpecContext) {
			for _, host := range hosts {
				onHost(ctx, host.Name, older.install("--allow-downgrade"))
				older.expectProxies(ctx, hosts, nodes)
				expectDecideAlike(ctx, hosts)
			}
		})

		It("had no failed call through the load balancer", func(SpecContext) {
			clients.stop()
			clients.running.Wait()
			clients.expectNoFailure()
		})
	})

// install returns the command that installs this version.
func (r release) install(flags ...string) string {
	command := r.program + " install --profile=hardened --image=" + r.image
	for _, flag := range flags {
		command += " " + flag
	}
	return command + " 2>&1"
}

// putRelease builds the program with a version, and puts it on the hosts. It gives all nodes its image.
func putRelease(ctx context.Context, hosts, nodes []corev1.Node, version string) release {
	GinkgoHelper()
	program := buildProgram(ctx, "../..", "./components/cmd/bulkhead",
		"-X github.com/bulkhead-k8s/bulkhead/components/internal/version.gitVersion="+version)
	r := release{version: version, program: "/usr/local/bin/bulkhead-" + version,
		image: "ghcr.io/bulkhead-k8s/bulkhead:" + version}
	for _, host := range hosts {
		Expect(suite.Host.Put(ctx, host.Name, r.program, program)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { onHost(ctx, host.Name, "rm "+r.program) })
	}
	for _, node := range nodes {
		onHost(ctx, node.Name, "ctr --namespace k8s.io images tag --force "+componentImage(ctx, node.Name)+" "+r.image)
		DeferCleanup(func(ctx context.Context) { onHost(ctx, node.Name, "ctr --namespace k8s.io images rm "+r.image) })
	}
	return r
}

// findNodes returns all nodes, also those of the control plane.
func findNodes(ctx context.Context) []corev1.Node {
	GinkgoHelper()
	list, err := suite.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "!" + FakeNodeLabel})
	Expect(err).NotTo(HaveOccurred())
	return list.Items
}

// readProxyLogs reads the log of each pod of kubelet-auth-proxy through the API server of the host where
// it runs, and prints the names of these pods.
const readProxyLogs = `set -e
kubectl="kubectl --kubeconfig=/etc/kubernetes/admin.conf --server=https://127.0.0.1:6443 --namespace=kube-system"
for pod in $($kubectl get pods --selector=app.kubernetes.io/name=kubelet-auth-proxy --output=name); do
  $kubectl logs --tail=1 $pod >/dev/null
  echo $pod
done
`

// expectProxies waits until the DaemonSet of kubelet-auth-proxy runs this version on all nodes. Then it
// reads a log of each node through each API server: the API server gets it from the kubelet, through the
// proxy if the node has one. A proxy can deny requests for a moment, while an API server restarts.
func (r release) expectProxies(ctx context.Context, hosts, nodes []corev1.Node) {
	GinkgoHelper()
	begun := time.Now()
	suite.AwaitProxies(ctx)
	Measured("rollout of kubelet-auth-proxy "+r.version, time.Since(begun).Round(time.Second).String())
	set, err := suite.Client.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, KubeletProxy, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(set.Spec.Template.Spec.Containers).To(ConsistOf(HaveField("Image", r.image)))
	for _, host := range hosts {
		Eventually(ctx, func() ([]string, error) {
			out, err := suite.Host.Run(ctx, host.Name, readProxyLogs)
			return strings.Fields(out), err
		}).WithTimeout(ServerSwitch).WithPolling(time.Second).Should(HaveLen(len(nodes)), "logs through %s", host.Name)
	}
}

// removeProxyDirectories removes the empty directories that the kubelet created for the proxy's pod, when
// that pod has ended.
const removeProxyDirectories = "! pgrep -f '^/kubelet-auth-proxy' && rm -df " + StateDirectory +
	"/kubelet-auth-proxy/crl-state " + StateDirectory + "/kubelet-auth-proxy " + StateDirectory

// uninstallAll removes Bulkhead in the order of docs/install.md: from the hosts, from the nodes, and then
// on one host the DaemonSet, which stays while a kubelet is behind its proxy.
func uninstallAll(ctx context.Context, hosts, nodes []corev1.Node) {
	GinkgoHelper()
	for _, host := range hosts {
		onHost(ctx, host.Name, "bulkhead uninstall 2>&1")
	}
	for _, node := range nodes {
		onHost(ctx, node.Name, "bulkhead node uninstall 2>&1")
	}
	Eventually(ctx, func() (bool, error) {
		if _, err := suite.Host.Run(ctx, hosts[0].Name, "bulkhead uninstall 2>&1"); err != nil {
			return false, err
		}
		_, err := suite.Client.AppsV1().DaemonSets(metav1.NamespaceSystem).Get(ctx, KubeletProxy, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	}).WithTimeout(reported).WithPolling(time.Second).Should(BeTrue(), "the DaemonSet is removed")
	for _, node := range nodes {
		Eventually(ctx, func() error {
			_, err := suite.Host.Run(ctx, node.Name, removeProxyDirectories)
			return err
		}).WithTimeout(reported).WithPolling(time.Second).Should(Succeed(), node.Name)
	}
}

// buildProgram builds a program for the hosts in the directory of its module, with flags for the
// linker.
func buildProgram(ctx context.Context, directory, pkg, flags string) []byte {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), filepath.Base(pkg))
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w "+flags, "-o", file,
		pkg)
	build.Dir = directory
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	out, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	program, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	return program
}

// expectDecideAlike expects the same decisions of node-authorizer and node-restriction at the API server
// of each host, each denial beside what is allowed.
func expectDecideAlike(ctx context.Context, hosts []corev1.Node) {
	GinkgoHelper()
	for i := range hosts {
		expectDecides(ctx, &hosts[i])
		node := suite.AsNode(suite.Worker).At(address(&hosts[i]))
		expectAnswer(ctx, node, List(api.Deployments), http.StatusForbidden, "[NA-DEFAULT]")
		expectAnswer(ctx, node, List(api.Services), http.StatusOK, "")
		expectAnswer(ctx, node, labelling(suite.Worker, "e2e.bulkhead.dev/upgrade"), http.StatusForbidden, "[NR-LABEL-2]")
		expectAnswer(ctx, node, labelling(suite.Worker, "node.kubernetes.io/instance-type"), http.StatusOK, "")
	}
}

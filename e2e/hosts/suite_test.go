// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package hosts_test installs and removes Bulkhead host by host, on a cluster with several control
// planes that begins without Bulkhead, as `refcluster up --plain --control-planes=3 --workers=2`
// creates it. Meanwhile, clients use the cluster through its load balancer. Most specs prove a step of
// a procedure, not a rule, so they name no rule.
package hosts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	"github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var (
	suite = framework.NewSuite("hosts", nil)
	api   = fixtures.AllResources()
)

func TestSpecs(t *testing.T) { suite.Run(t) }

func TestEverySpecHasATimeout(t *testing.T) { framework.CheckTimeouts(t) }

// findControlPlanes returns the control-plane nodes, sorted by name. It skips the specs if there are
// fewer than three.
func findControlPlanes(ctx context.Context) []corev1.Node {
	GinkgoHelper()
	list, err := suite.Client.CoreV1().Nodes().List(ctx,
		metav1.ListOptions{LabelSelector: "node-role.kubernetes.io/control-plane"})
	Expect(err).NotTo(HaveOccurred())
	if len(list.Items) < 3 {
		Skip("this cluster has fewer than three control planes: run make ha-full")
	}
	return list.Items
}

// address returns the address of the API server on a control-plane node.
func address(node *corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return "https://" + a.Address + ":6443"
		}
	}
	return ""
}

// onHost runs a script on a host. It must succeed.
func onHost(ctx context.Context, host, script string) string {
	GinkgoHelper()
	out, err := suite.Host.Run(ctx, host, script)
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(out)
}

// componentImage returns the image with Bulkhead's programs that is on a host.
func componentImage(ctx context.Context, host string) string {
	GinkgoHelper()
	out := onHost(ctx, host, "ctr --namespace k8s.io images ls -q | grep '^ghcr.io/bulkhead-k8s/bulkhead:dev-'")
	Expect(out).NotTo(BeEmpty(), "no image with Bulkhead's programs on "+host)
	return strings.Fields(out)[0]
}

// hostState is what an uninstallation must restore on a host, byte for byte.
func hostState(ctx context.Context, host string) string {
	GinkgoHelper()
	return onHost(ctx, host, "sha256sum /etc/kubernetes/manifests/* && "+
		"find /etc/kubernetes /etc/systemd/system ! -type d -printf '%p %m %U %G\\n' | sort")
}

// kubeadmConfig returns the ConfigMap from which kubeadm makes the manifests of all hosts.
func kubeadmConfig(ctx context.Context) string {
	GinkgoHelper()
	config, err := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "kubeadm-config",
		metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return config.Data["ClusterConfiguration"]
}

// expectNotInstalled expects that no host has Bulkhead.
func expectNotInstalled(ctx context.Context, hosts []corev1.Node) {
	GinkgoHelper()
	for _, host := range hosts {
		Expect(onHost(ctx, host.Name, "bulkhead status")).To(ContainSubstring("Bulkhead is not installed"), host.Name)
	}
}

// bulkheadObjects lists the objects with the name of Bulkhead. The reference cluster has some of its
// own.
func bulkheadObjects(ctx context.Context, host string) string {
	GinkgoHelper()
	return onHost(ctx, host, fmt.Sprintf("kubectl --kubeconfig=/etc/kubernetes/admin.conf --namespace=%s get "+
		"configmaps,leases,daemonsets,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,flowschemas,"+
		"prioritylevelconfigurations,validatingadmissionpolicies,validatingwebhookconfigurations --output=name | "+
		"grep -i bulkhead || true", metav1.NamespaceSystem))
}

const (
	clusterStatus = "bulkhead status --cluster --kubeconfig=/etc/kubernetes/admin.conf"
	// reported is how long a kubelet may take to report its new static pods.
	reported = 2 * time.Minute
)

// eventuallyHealthy returns the state of the cluster when it has no problem any more.
func eventuallyHealthy(ctx context.Context, host string) (state string) {
	GinkgoHelper()
	Eventually(ctx, func() (err error) {
		state, err = suite.Host.Run(ctx, host, clusterStatus)
		return err
	}).WithTimeout(reported).WithPolling(time.Second).Should(Succeed())
	GinkgoWriter.Println(state)
	return state
}

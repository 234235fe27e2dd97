// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// notReadyAfter is the grace period after which a silent node is not Ready. Kubernetes' default is
// 50 s.
const notReadyAfter = 40 * time.Second

// hostDisruptions break hosts, networks and other programs of the control plane.
func hostDisruptions() []disruption {
	return []disruption{
		{
			name: "worker's network cut", broken: "The worker's host drops every packet of its network.",
			short: 8 * time.Second, long: 2 * time.Minute,
			begin: func(ctx context.Context) { onWorker(ctx, fmt.Sprintf(changeCut, "-I")) },
			repair: func(ctx context.Context) {
				onWorker(ctx, fmt.Sprintf("while "+changeCut+"; do :; done 2>/dev/null", "-D"))
			},
			affected:   []call{adminExec},
			unaffected: []call{adminReads},
			notReady: func(lasts time.Duration) []string {
				if lasts < notReadyAfter {
					return nil
				}
				return []string{suite.Worker}
			},
		},
		{
			name: "etcd paused", broken: "etcd is stopped by SIGSTOP, and continues at the end.",
			short: 5 * time.Second, long: 20 * time.Second,
			begin:    func(ctx context.Context) { suite.OnControlPlane(ctx, "kill -STOP $(pgrep -x etcd)") },
			repair:   func(ctx context.Context) { suite.OnControlPlane(ctx, "kill -CONT $(pgrep -x etcd) || true") },
			affected: []call{adminReads},
		},
		{
			name:   "the only control-plane host stopped",
			broken: "The host of the only control plane is stopped and started again.",
			long:   time.Minute, unfit: needsDocker,
			onlyLong: "a container gets its address again only if no other cluster of the machine took it",
			begin:    func(ctx context.Context) { docker(ctx, "stop", "--time=10", suite.ControlPlane) },
			repair: func(ctx context.Context) {
				docker(ctx, "start", suite.ControlPlane)
				suite.EventuallyOnControlPlane(ctx, 2*ServerSwitch,
					serverProcess+" && kubectl --kubeconfig=/etc/kubernetes/admin.conf get --raw=/readyz")
			},
			affected: []call{adminReads},
			// Its kubelet starts anew. The worker's kubelet cannot renew its lease meanwhile.
			notReady: func(time.Duration) []string { return []string{suite.ControlPlane, suite.Worker} },
		},
		{
			name:   "one of three control-plane hosts stopped",
			broken: "One of three control-plane hosts is stopped and started again. Clients use the load balancer.",
			long:   time.Minute, unfit: needsThree,
			onlyLong: "it needs the cluster of `make ha`; e2e/hosts ends all processes of one of three hosts",
			begin:    func(ctx context.Context) { docker(ctx, "stop", "--time=10", suite.ControlPlane) },
			repair: func(ctx context.Context) {
				docker(ctx, "start", suite.ControlPlane)
				suite.EventuallyOnControlPlane(ctx, 2*ServerSwitch,
					serverProcess+" && kubectl --kubeconfig=/etc/kubernetes/admin.conf get --raw=/readyz")
			},
			notReady: func(time.Duration) []string { return []string{suite.ControlPlane} },
		},
	}
}

// changeCut adds or deletes the rules that cut a host from its network. The loopback stays.
const changeCut = "iptables -w %[1]s INPUT -i eth0 -j DROP && iptables -w %[1]s OUTPUT -o eth0 -j DROP && " +
	"iptables -w %[1]s FORWARD -i eth0 -j DROP"

// needsDocker returns why hosts cannot be stopped. They are containers of the machine that runs the
// suite, or the suite cannot stop them.
func needsDocker(context.Context) string {
	if !strings.HasPrefix(suite.Settings.NodeExec, "docker exec ") {
		return "the hosts are not containers of this machine"
	}
	return ""
}

// needsThree returns why a cluster is unfit to lose a control plane.
func needsThree(ctx context.Context) string {
	list, err := suite.Client.CoreV1().Nodes().List(ctx,
		metav1.ListOptions{LabelSelector: "node-role.kubernetes.io/control-plane"})
	if err != nil {
		return err.Error()
	}
	if len(list.Items) < 3 {
		return "the cluster has fewer than three control planes; `make ha` creates one"
	}
	return needsDocker(ctx)
}

func docker(ctx context.Context, args ...string) {
	GinkgoHelper()
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "docker %s: %s", strings.Join(args, " "), out)
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// componentDisruptions break programs of Bulkhead. Where node-authorizer does not answer, exec may fail:
// kubelet-auth-proxy is an account with a node scope, and remembers a decision for at most 5 minutes.
func componentDisruptions() []disruption {
	killed := 5 * time.Second
	return []disruption{
		{
			name: "node-authorizer killed", broken: "node-authorizer is killed every 5 s.",
			short: 12 * time.Second, long: 10 * time.Minute,
			again:      func(ctx context.Context) { nodeAuthorizer.kill(ctx); rest(ctx, killed) },
			repair:     nodeAuthorizer.await,
			unaffected: []call{kubeletReads, adminReads},
			affected:   []call{scopedReads},
		},
		{
			name: "node-restriction killed", broken: "node-restriction is killed every 5 s.",
			short: 12 * time.Second, long: 10 * time.Minute,
			again:      func(ctx context.Context) { nodeRestriction.kill(ctx); rest(ctx, killed) },
			repair:     nodeRestriction.await,
			unaffected: []call{kubeletReads, scopedReads, adminReads, adminExec},
			affected:   []call{kubeletWrites},
		},
		{
			name: "both dead, then the API server restarted",
			broken: "node-authorizer and node-restriction do not run. At the end of the time, kube-apiserver is killed. It " +
				"starts while both are still dead.",
			short: 10 * time.Second, long: 5 * time.Minute,
			begin: func(ctx context.Context) { nodeAuthorizer.remove(ctx); nodeRestriction.remove(ctx) },
			last:  restartServer,
			repair: func(ctx context.Context) {
				nodeAuthorizer.restore(ctx)
				nodeRestriction.restore(ctx)
			},
			affected: []call{scopedReads, kubeletWrites},
		},
		{
			name: "kubelet-auth-proxy dead", broken: "The proxy of the worker does not serve: its files are gone.",
			short: 10 * time.Second, long: 5 * time.Minute,
			begin: removeProxy, repair: restoreProxy,
			unaffected: []call{kubeletReads, kubeletWrites, scopedReads, adminReads},
			affected:   []call{adminExec},
		},
		{
			name: "scope-sync dead", broken: "scope-sync does not run.",
			short: 10 * time.Second, long: 5 * time.Minute,
			begin: scopeSync.remove, repair: scopeSync.restore,
			unaffected: everyCall,
		},
		{
			name: "webhooks slowed to 3 s",
			broken: "node-authorizer and node-restriction are stopped by SIGSTOP for 3 s and then continue for 0.3 s, again " +
				"and again. So most of their answers take up to 3 s.",
			short: 10 * time.Second, long: 5 * time.Minute,
			again: func(ctx context.Context) {
				suite.OnControlPlane(ctx, "kill -STOP "+bothProcesses+"; sleep 3; kill -CONT "+bothProcesses+"; sleep 0.3")
			},
			affected: []call{kubeletReads, kubeletWrites, scopedReads},
			repair: func(ctx context.Context) {
				suite.OnControlPlane(ctx, "kill -CONT "+bothProcesses+" || true")
				nodeAuthorizer.await(ctx)
				nodeRestriction.await(ctx)
			},
			unaffected: []call{adminReads},
		},
		{
			name: "memory limits reached",
			broken: "The memory of the containers of node-authorizer and then of node-restriction is filled up to their " +
				"limits, every 5 s. The kernel kills the process.",
			short: 5 * time.Second, long: 5 * time.Minute,
			again: func(ctx context.Context) {
				exhaust(ctx, nodeAuthorizer)
				exhaust(ctx, nodeRestriction)
				rest(ctx, killed)
			},
			affected: []call{kubeletWrites, scopedReads},
			repair: func(ctx context.Context) {
				nodeAuthorizer.await(ctx)
				nodeRestriction.await(ctx)
			},
			unaffected: []call{kubeletReads, adminReads},
		},
	}
}

const bothProcesses = "$(pgrep -x node-authorizer) $(" + RestrictionProcess + ")"

// rest waits, or until the context ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// restartServer kills kube-apiserver and waits until it serves again.
func restartServer(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, "kill -9 $("+serverProcess+")")
	suite.EventuallyOnControlPlane(ctx, ServerSwitch,
		serverProcess+" && kubectl --kubeconfig=/etc/kubernetes/admin.conf get --raw=/readyz")
}

// exhaust fills the memory of a component's container up to its limit, and waits until the kernel has
// killed the process. The limit is lowered, so that it takes little memory of the host: 64 MiB, more
// than the kernel can free of the files that it keeps in memory. The kernel does not kill the process
// that fills the memory. The paths are those of cgroup v1 and v2.
func exhaust(ctx context.Context, c component) {
	GinkgoHelper()
	c.await(ctx)
	const fill = `set -e
group=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/$pid/cgroup)
used=memory.usage_in_bytes limit=memory.limit_in_bytes
if ! test -e $group/$used; then
  group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/$pid/cgroup) used=memory.current limit=memory.max
fi
echo $(($(cat $group/$used) + 8388608)) >$group/$limit
sh -c 'echo -1000 >/proc/$$/oom_score_adj; echo $$ >$1/cgroup.procs
head -c 67108864 /dev/zero | tail -c 67108864 | sleep 5' sh $group >/dev/null 2>&1 &
for i in $(seq 300); do test -e /proc/$pid || exit 0; sleep 0.1; done
echo not killed: $(cat $group/$used) of $(cat $group/$limit) bytes >&2; exit 1
`
	suite.OnControlPlane(ctx, "pid=$("+c.process+")\n"+fill)
}

const (
	// proxyFiles are the files that the proxy needs to serve. proxyAside is their path during the
	// disruption.
	proxyFiles = StateDirectory + "/kubelet-auth-proxy"
	proxyAside = "/etc/kubernetes/e2e-failure-kubelet-auth-proxy"
)

// removeProxy takes away the files of the worker's proxy, and replaces its pod: a running pod has
// mounted the directory. It waits until the old pod no longer serves. After a restart of the API server,
// the kubelet sees the deletion some seconds later.
func removeProxy(ctx context.Context) {
	GinkgoHelper()
	serving := onWorker(ctx, "pgrep -x kubelet-auth-pr | tr '\\n' ' '")
	onWorker(ctx, "test -e "+proxyAside+" || mv "+proxyFiles+" "+proxyAside)
	deleteProxy(ctx)
	onWorker(ctx, "timeout 120 sh -c 'for pid in "+serving+"; do while test -e /proc/$pid; do sleep 0.1; done; done'")
}

func restoreProxy(ctx context.Context) {
	GinkgoHelper()
	if onWorker(ctx, "test ! -e "+proxyAside+" || { rm -rf "+proxyFiles+" && mv "+proxyAside+" "+proxyFiles+
		" && echo restored; }") != "" {
		deleteProxy(ctx)
	}
}

// deleteProxy deletes the pod of the worker's proxy. The DaemonSet creates another one.
func deleteProxy(ctx context.Context) {
	GinkgoHelper()
	err := suite.Client.CoreV1().Pods(metav1.NamespaceSystem).DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=kubelet-auth-proxy",
			FieldSelector: "spec.nodeName=" + suite.Worker})
	Expect(err).NotTo(HaveOccurred())
}

// onWorker runs a script on the worker's host. The script must succeed.
func onWorker(ctx context.Context, script string) string {
	GinkgoHelper()
	return onHost(ctx, suite.Worker, script)
}

func onHost(ctx context.Context, host, script string) string {
	GinkgoHelper()
	out, err := suite.Host.Run(ctx, host, script)
	Expect(err).NotTo(HaveOccurred())
	return out
}

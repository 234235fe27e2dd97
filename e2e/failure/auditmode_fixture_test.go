// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// installWorker applies the settings of the cluster on the worker, when the pod of its proxy has them.
func installWorker(ctx context.Context, says string) {
	GinkgoHelper()
	replaceWorkersProxy(ctx)
	Expect(suite.Host.Run(ctx, suite.Worker, "bulkhead node install")).To(ContainSubstring(says))
}

// replaceWorkersProxy gives the worker's proxy the new settings, without the wait for the other nodes: the
// rollout would wait for a joined machine, which has no image of Bulkhead.
func replaceWorkersProxy(ctx context.Context) {
	GinkgoHelper()
	const proxyOf = "kubectl -n kube-system %s pods --selector=app.kubernetes.io/name=kubelet-auth-proxy" +
		" --field-selector=spec.nodeName=%s"
	suite.OnControlPlane(ctx, asAdmin+fmt.Sprintf(proxyOf, "delete", suite.Worker))
	suite.EventuallyOnControlPlane(ctx, 7*time.Minute, asAdmin+fmt.Sprintf(proxyOf,
		"wait --for=condition=Ready --timeout=10s", suite.Worker))
}

// joinLikeKarpenter joins a machine whose kubelet has its own labels and taints, and whose pod network
// has its own addresses.
func joinLikeKarpenter(ctx context.Context) *NewMachine {
	GinkgoHelper()
	machine := suite.Env().NewMachine(ctx, MachineName())
	machine.Run(ctx, `sed -i 's#^KUBELET_EXTRA_ARGS=#&--node-labels=`+nodePool+`=x --register-with-taints=`+startupTaint+
		`=:NoExecute #' /etc/default/kubelet && grep -q `+startupTaint+` /etc/default/kubelet`)
	machine.Join(ctx, suite.Env().BootstrapToken(ctx))
	machine.UseRange(ctx, foreignRange)
	return machine
}

func expectKarpenters(ctx context.Context, machine *NewMachine) {
	GinkgoHelper()
	node, err := suite.Client.CoreV1().Nodes().Get(ctx, machine.Name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(node.Labels).To(HaveKeyWithValue(nodePool, "x"))
	Expect(node.Spec.Taints).To(ContainElement(HaveField("Key", startupTaint)))
}

// expectForeignPod starts a pod on the machine. Its kubelet reports an IP outside the podCIDR.
func expectForeignPod(ctx context.Context, machine *NewMachine) {
	GinkgoHelper()
	pod := suite.Env().Pod(ctx, machine.Name)
	Eventually(ctx, func() (string, error) {
		pod, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		return string(pod.Status.Phase) + " " + pod.Status.PodIP, err
	}).WithTimeout(PodStart).WithPolling(time.Second).Should(HavePrefix("Running 10.99.77."))
}

// logAgent starts a pod on the worker's network that names the kubelet's API at 127.0.0.1, and
// returns its account's token.
func logAgent(ctx context.Context) Bearer {
	GinkgoHelper()
	env := suite.Env()
	env.Pod(ctx, suite.Worker, func(pod *corev1.Pod) {
		pod.Spec.HostNetwork = true
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "KUBELET", Value: "https://127.0.0.1:10250/pods"}}
	})
	token := env.AccountToken(ctx)
	env.Grant(ctx, token.User, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""},
		Resources: []string{"nodes/pods", "nodes/proxy"}})
	return token
}

// expectLoopback reads the pods of the worker's kubelet at 127.0.0.1.
func expectLoopback(ctx context.Context, agent Bearer, code string) {
	GinkgoHelper()
	expectKubelet(ctx, "127.0.0.1:10250/pods", agent, code)
	expectKubelet(ctx, "127.0.0.1:10250/pods", Bearer{}, "401")
}

// containerLog is the log of a container that does not exist: who may read it, gets 404.
const containerLog = "$(hostname):10250/containerLogs/kube-system/no-pod/no-container"

// askKubelet sends a GET request from the worker's host, without a token if the bearer has none. It
// returns the code of the answer.
func askKubelet(ctx context.Context, address string, who Bearer) (string, error) {
	get := `curl -sk -o /dev/null --max-time 20 -w '%{http_code}' "https://` + address + `"`
	if who.Token != "" {
		get += " -H 'Authorization: Bearer " + who.Token + "'"
	}
	return suite.Host.Run(ctx, suite.Worker, get)
}

func expectKubelet(ctx context.Context, address string, who Bearer, code string) {
	GinkgoHelper()
	Expect(askKubelet(ctx, address, who)).To(Equal(code), address)
}

// expectUncleanPath sends a path with an empty segment. The kubelet answers with a redirect to the
// path without it.
func expectUncleanPath(ctx context.Context, who Bearer, code string) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) { return askKubelet(ctx, "$(hostname):10250//pods", who) }).
		WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(Equal(code))
}

// expectContainerLog waits for the answer: kube-apiserver has restarted, and for a while
// kubelet-auth-proxy cannot ask it whose token this is.
func expectContainerLog(ctx context.Context, who Bearer) {
	GinkgoHelper()
	Eventually(ctx, func() (string, error) { return askKubelet(ctx, containerLog, who) }).
		WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(Equal("404"))
}

// expectServerProxy reads the kubelet's statistics through the API server.
func expectServerProxy(ctx context.Context, who Bearer) {
	GinkgoHelper()
	code, message, err := suite.AsBearer(who).Send(ctx, GetPath("/api/v1/nodes/"+suite.Worker+"/proxy/stats/summary"))
	Expect(err).NotTo(HaveOccurred())
	Expect(code).To(Equal(http.StatusOK), message)
}

// grantedNode returns a node to which RBAC grants what no rule of node-authorizer allows.
func grantedNode(ctx context.Context) *Identity {
	GinkgoHelper()
	env := suite.Env()
	env.Grant(ctx, "system:node:"+env.Own, rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{"apps"},
		Resources: []string{"deployments"}})
	return suite.AsNode(env.Own)
}

const staticPod = "/etc/kubernetes/manifests/agent.yaml"

// expectMirrorPod runs a static pod on the machine with a label that its namespace does not allow.
func expectMirrorPod(ctx context.Context, machine *NewMachine) {
	GinkgoHelper()
	machine.Run(ctx, `cat >`+staticPod+` <<'END'
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: kube-system, labels: {app: agent}}
spec:
  containers:
  - {name: pause, image: `+fixtures.PauseImage+`}
END
`)
	Eventually(ctx, mirrorPod(machine)).WithTimeout(PodStart).WithPolling(time.Second).Should(Succeed())
}

const (
	asAdmin     = "KUBECONFIG=/etc/kubernetes/admin.conf "
	allowedKeys = "node.kubernetes.io/mirror.allowed-label-keys"
)

// allowMirrorPods runs the commands that mirror-labels prints. At the end, kube-system has its own
// list of labels again.
func allowMirrorPods(ctx context.Context) {
	GinkgoHelper()
	system, err := suite.Client.CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	before := system.Annotations[allowedKeys]
	DeferCleanup(func(ctx context.Context) {
		suite.OnControlPlane(ctx, asAdmin+"kubectl annotate namespace kube-system --overwrite "+allowedKeys+"="+before)
	})
	suite.OnControlPlane(ctx, "bulkhead mirror-labels | grep '^kubectl annotate' | "+asAdmin+"sh")
}

// expectNewMirrorPod deletes the mirror pod, and its kubelet creates it again.
func expectNewMirrorPod(ctx context.Context, machine *NewMachine) {
	GinkgoHelper()
	Expect(suite.Client.CoreV1().Pods("kube-system").Delete(ctx, "agent-"+machine.Name,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64)})).To(Succeed())
	Eventually(ctx, mirrorPod(machine)).WithTimeout(PodStart).WithPolling(time.Second).Should(Succeed())
}

func mirrorPod(machine *NewMachine) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := suite.Client.CoreV1().Pods("kube-system").Get(ctx, "agent-"+machine.Name, metav1.GetOptions{})
		return err
	}
}

// auditLogSince writes the part of the API server's audit log since a time to a file, and returns its
// path. The log of a long test run is large.
func auditLogSince(ctx context.Context, since time.Time) string {
	GinkgoHelper()
	const file, key = "/run/bulkhead-audit.log", `"stageTimestamp":"`
	suite.OnControlPlane(ctx, `cat $(ls -tr /var/log/kubernetes/audit/audit*.log | tail -n 2) |
awk -v since=`+since.UTC().Format("2006-01-02T15:04:05")+` 'i = index($0, "`+strings.ReplaceAll(key, `"`, `\"`)+`") {
  if (substr($0, i + `+strconv.Itoa(len(key))+`, 19) >= since) print }' >`+file)
	return file
}

// auditMetrics writes the metrics of node-authorizer and node-restriction to a file, and returns its
// path.
func auditMetrics(ctx context.Context) string {
	GinkgoHelper()
	const file = "/run/bulkhead-metrics.txt"
	suite.OnControlPlane(ctx, "curl -sSf http://127.0.0.1:10462/metrics http://127.0.0.1:10464/metrics >"+file)
	return file
}

// findings are texts, by the rule whose entry in a report has them.
type findings map[string]string

func expectFindings(report string, want findings) {
	GinkgoHelper()
	for rule, text := range want {
		Expect(strings.Split(report, "\n\n")).To(ContainElement(And(HavePrefix(rule+"  "), ContainSubstring(text))),
			"rule %s, text %q", rule, text)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// noConnection is the status that curl prints when there is no answer.
const noConnection = "000"

// asks is a script of a pod with a token. It requests the kubelet's pods from each address and
// prints the address and the status. The word gateway stands for the node's address on the pod
// network.
const asks = `gateway=$(ip -4 route show default | { read -r _ _ address _; echo "$address"; })
for address in %s; do
	case $address in gateway) host=$gateway ;; *) host=$address ;; esac
	echo "$address $(curl -sk -o /dev/null --max-time 20 -w '%%{http_code}' ` +
	`-H "Authorization: Bearer $(cat /token/token)" "https://$host:10250/pods")"
done
echo asked
sleep 86400`

// answersTo runs a pod on a node that calls the addresses with the token of the Env's account. It
// returns the statuses.
func answersTo(ctx context.Context, node string, addresses []string, tweaks ...fixtures.PodTweak) map[string]string {
	GinkgoHelper()
	script := fmt.Sprintf(asks, strings.Join(addresses, " "))
	pod := suite.Env().Pod(ctx, node, append([]fixtures.PodTweak{withShell(script), fixtures.WithToken()}, tweaks...)...)
	var output string
	Eventually(ctx, func() (string, error) {
		log, err := suite.Client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		output = string(log)
		return output, err
	}).WithTimeout(PodStart).WithPolling(500*time.Millisecond).Should(ContainSubstring("asked"), "pod %s asks", pod.Name)
	answers := map[string]string{}
	for line := range strings.Lines(output) {
		if address, status, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			answers[address] = status
		}
	}
	return answers
}

func onHostNetwork(pod *corev1.Pod) { pod.Spec.HostNetwork = true }

// addressOf returns a node's address without the kubelet's port.
func addressOf(ctx context.Context, node string) string {
	GinkgoHelper()
	host, _, err := net.SplitHostPort(must(suite.KubeletPort(ctx, node)).Address)
	Expect(err).NotTo(HaveOccurred())
	return host
}

// grantPodReads gives the account of the Env's pods the rights to read a kubelet's pods, for
// both modes.
func grantPodReads(ctx context.Context) {
	GinkgoHelper()
	env := suite.Env()
	made := env.Account(ctx)
	env.Grant(ctx, Account(made.Namespace, made.Name, "").User, may("get", "proxy", "pods")...)
}

// Behind the proxy the kubelet listens on loopback and trusts one client certificate. A token that
// the proxy accepts is not valid there.
var _ = Describe("the kubelet behind the proxy", func() {
	BeforeEach(func(ctx SpecContext) { grantPodReads(ctx) })

	It("rejects the token of a pod on the host's network, whatever its rights", DeniesBeyond("KA-LOOPBACK-1", "KA-POD-1"),
		func(ctx SpecContext) {
			answers := answersTo(ctx, target(), []string{"127.0.0.1"}, onHostNetwork)
			Expect(answers).To(HaveKeyWithValue("127.0.0.1", ifInForce("KA-LOOPBACK-1", "401", "200")))
		})

	It("the proxy accepts the token of that pod", AllowsBy("KA-LOOPBACK-1", "KA-POD-1"), func(ctx SpecContext) {
		address := addressOf(ctx, target())
		Expect(answersTo(ctx, target(), []string{address}, onHostNetwork)).To(HaveKeyWithValue(address, "200"))
	})

	It("is not reachable for a pod of the node", DeniesBeyond("KA-LOOPBACK-1", "KA-POD-1"), func(ctx SpecContext) {
		address := addressOf(ctx, target())
		answers := answersTo(ctx, target(), []string{"127.0.0.1", "gateway", address})
		Expect(answers).To(And(
			HaveKeyWithValue("127.0.0.1", noConnection),
			HaveKeyWithValue("gateway", ifInForce("KA-LOOPBACK-1", noConnection, "200")),
			HaveKeyWithValue(address, "200"),
		))
	})

	It("is not reachable for a pod of another node, which reaches the proxy only", AllowsBy("KA-LOOPBACK-1", "KA-POD-1"),
		Label(OnWorker), func(ctx SpecContext) {
			address := addressOf(ctx, suite.Worker)
			answers := answersTo(ctx, suite.ControlPlane, []string{address, "127.0.0.1"})
			Expect(answers).To(And(HaveKeyWithValue(address, "200"), HaveKeyWithValue("127.0.0.1", noConnection)))
		})
})

// ifInForce returns the first value if the rule is in force, and the second value otherwise.
func ifInForce(rule string, with, without string) string {
	if suite.InForce(rules.ID(rule)) {
		return with
	}
	return without
}

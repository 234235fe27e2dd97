// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// scraper is the attacker who broke into a monitoring pod. Without protection means a kubelet without
// kubelet-auth-proxy, or a proxy in mode compat, which decides as a kubelet does.
var scraper = clientOfKubelets("the token of a monitoring pod, which may get nodes/proxy, from inside the pod",
	"The attacker is in a monitoring pod. RBAC allows it to get nodes/proxy.")

const greeting = "hello from the pod of others"

var _ = tell(Story{
	ID: "T10", Title: "The right to read a kubelet's metrics executes commands in all of its pods",
	Source: "kubernetes/kubernetes#119640; kubernetes/kubernetes#136550",
	Effect: "A WebSocket begins with GET, so the kubelet asks for get on nodes/proxy. Many monitoring charts grant " +
		"that. The token executes commands in every container of every node, and no audit log of the API server has it.",
	Stops: "kubelet-auth-proxy demands create on nodes/exec for commands, whatever the method is.",
	Also:  []string{"e2e/kubeletauth/execpaths_node_test.go", "e2e/kubeletauth/execpaths_server_test.go"},
	Attempts: []Attempt{{
		Name: "executing a command by WebSocket at the kubelet's port", Effect: "the command ran in another pod",
		By: scraper, Rights: []rbacv1.PolicyRule{right("", []string{"get"}, "nodes/proxy")}, Rule: "KA-EXEC-1",
		Labels: Label(OnHost),
		Prepare: func(ctx context.Context, r *Run) {
			r.Port = kubeletPort(ctx, r, "--mode=compat")
			r.Pod = running(ctx, r.Env.Pod(ctx, r.Attacker(), fixtures.WithShell("shell", "sleep 3600")))
		},
		Attack: execs,
		Show: func(_ context.Context, r *Run, answer Answer) {
			Expect(string(answer.Body)).To(ContainSubstring(greeting))
			r.Say("The command ran in pod %s and printed %q.", r.Pod.Name, greeting)
		},
		TwinIs: "the path /pods, which the right is for", TwinRule: "KA-POD-1",
		Twin: func(ctx context.Context, r *Run, who *Identity) Answer {
			answer, _ := r.Call(ctx, who, Calling(http.MethodGet, "/pods"))
			return answer
		},
	}},
})

// kubeletPort returns the kubelet's port of the attacker's node. Without protection, where Bulkhead is
// installed, it is the port of a second proxy with these flags.
func kubeletPort(ctx context.Context, r *Run, flags ...string) *Port {
	GinkgoHelper()
	if !r.Protected && suite.Settings.Profile == Hardened {
		return SideProxy{Flags: flags}.Run(ctx, r.Env, r.Attacker())
	}
	port, err := suite.KubeletPort(ctx, r.Attacker())
	Expect(err).NotTo(HaveOccurred())
	return port
}

// execs runs echo in the victim's pod, and returns the output as the body.
func execs(ctx context.Context, r *Run, who *Identity) Answer {
	GinkgoHelper()
	path := "/exec/" + r.Pod.Namespace + "/" + r.Pod.Name + "/shell?output=1&error=1&command=echo" +
		"&command=hello+from+the+pod+of+others"
	answer, connection := r.Call(ctx, who, Calling(http.MethodGet, path).Upgrading("v4.channel.k8s.io"))
	if answer.Code == http.StatusSwitchingProtocols {
		output, err := connection.Output()
		Expect(err).NotTo(HaveOccurred())
		answer.Body = []byte(output[1])
	}
	return answer
}

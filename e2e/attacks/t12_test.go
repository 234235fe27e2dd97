// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// elsewhere is where the attacker wants the client to go with its credentials.
const elsewhere = "https://192.0.2.1:10250/"

var _ = tell(Story{
	ID: "T12", Title: "A kubelet redirects its client to another address",
	Source: "CVE-2020-8559",
	Effect: "The attacker is root on the node, and answers requests to the kubelet with a redirect. A client that " +
		"follows it makes the request at an address of the attacker's choice, such as another node.",
	Stops: "kubelet-auth-proxy replaces a redirect to another address, and every redirect of an upgrade, by an error.",
	Also:  []string{"e2e/kubeletauth/forwarding_test.go"},
	Attempts: []Attempt{{
		Name: "answering an ordinary request with a redirect", Effect: "the client gets the attacker's address",
		By: logReader, Rights: []rbacv1.PolicyRule{right("", []string{"get"}, "nodes/log")}, Rule: "KA-REDIRECT-1",
		Labels:  Label(OnHost, OnHardened),
		Prepare: answering,
		Attack:  redirected("301&location=" + elsewhere),
		Show: func(_ context.Context, r *Run, _ Answer) {
			Expect(r.reply.Header.Get("Location")).To(Equal(elsewhere))
			r.Say("The client gets the address %s.", elsewhere)
		},
		Stopped: func(ctx context.Context, r *Run, _ Answer) {
			line := suite.ExpectDenied(ctx, r.reply, http.StatusBadGateway, "KA-REDIRECT-1")
			Expect(r.reply.Header).NotTo(HaveKey("Location"))
			r.Say("kubelet-auth-proxy's audit log: decision=%s rule=%s user=%s", line.Decision, line.Rule, line.User)
		},
		TwinIs: "the same request, answered with another status", TwinRule: "KA-LOG-1",
		Twin: redirected("200"),
	}},
})

// logReader is the attacker who waits for a client that reads the logs of nodes.
var logReader = clientOfKubelets("the token of a pod that may get nodes/log, whose request the attacker answers",
	"A pod reads the logs of the node. RBAC allows it to get nodes/log.")

// redirected is a request whose query says how the attacker's program answers.
func redirected(query string) Act {
	return func(ctx context.Context, r *Run, who *Identity) Answer {
		answer, _ := r.Call(ctx, who, Calling(http.MethodGet, "/logs/?status="+query))
		return answer
	}
}

// answering starts the program e2e/standin instead of a kubelet, and a second proxy in front of it. The
// program has the kubelet's certificate. Without protection, clients reach it directly.
func answering(ctx context.Context, r *Run) {
	GinkgoHelper()
	beside, err := suite.KubeletPort(ctx, r.Attacker())
	Expect(err).NotTo(HaveOccurred())
	host, _, err := net.SplitHostPort(beside.Address)
	Expect(err).NotTo(HaveOccurred())
	port := fmt.Sprint(hostPort())
	r.RunProgram(ctx, r.Attacker(), "../standin", "-listen=0.0.0.0:"+port)
	Eventually(ctx, func() error {
		_, err := suite.Host.Run(ctx, r.Attacker(), "curl -sSk --fail --max-time 5 https://127.0.0.1:"+port+"/")
		return err
	}).WithTimeout(PodStart).WithPolling(200 * time.Millisecond).Should(Succeed())
	r.Port = &Port{Address: net.JoinHostPort(host, port), Node: r.Attacker()}
	if r.Protected {
		r.Port = SideProxy{Flags: []string{"--kubelet-address=127.0.0.1:" + port}}.Run(ctx, r.Env, r.Attacker())
	}
}

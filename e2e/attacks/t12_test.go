// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The requests that the attacker answers.
var (
	readLog = kubeletRequest{folder: "/logs/"}
	execute = kubeletRequest{folder: "/exec/default/e2e-none/", upgrade: true}
)

var _ = tell(Story{
	ID: "T12", Title: "A kubelet redirects its client to another address",
	Source: "CVE-2020-8559",
	Effect: "The attacker is root on the node, and answers requests to the kubelet with a redirect. A client that " +
		"follows it makes the request on another node, with its credentials there: also exec, if the client may exec. " +
		"In the CVE, the client was kube-apiserver. Today's kube-apiserver follows no redirect of a kubelet: it answers " +
		"a redirected upgrade with an error, and returns any other redirect through nodes/proxy to its own client. A " +
		"client that uses client-go's transport with net/http follows, and sends its token to the other address.",
	Stops: "kubelet-auth-proxy replaces a redirect to another address, and every redirect of an upgrade, by an error.",
	Also:  []string{"e2e/kubeletauth/forwarding_test.go"},
	Attempts: []Attempt{
		{
			Name:   "answering an ordinary request with a redirect",
			Effect: "the client's request arrives on another node, with its token",
			By: clientOfKubelets("the token of a pod that may get nodes/log, whose request the attacker answers",
				"A pod reads the logs of the node. RBAC allows it to get nodes/log."),
			Rights: []rbacv1.PolicyRule{right("", []string{"get"}, "nodes/log")}, Rule: "KA-REDIRECT-1",
			Labels:  Label(OnHost),
			Prepare: redirecting,
			Attack:  readLog.answeredWith(http.StatusMovedPermanently),
			Show:    showFollowed, Stopped: expectNotFollowed,
			TwinIs: "the same request, answered with status 200", TwinRule: "KA-LOG-1",
			Twin: readLog.answeredWith(http.StatusOK),
		},
		{
			Name:   "answering the upgrade of an exec with a redirect",
			Effect: "the client's exec arrives on another node, with its token",
			By: clientOfKubelets("the token of a pod that may create nodes/exec, whose request the attacker answers",
				"A pod executes commands on the node. RBAC allows it to create nodes/exec."),
			Rights: []rbacv1.PolicyRule{right("", []string{"create"}, "nodes/exec")}, Rule: "KA-REDIRECT-1",
			Labels:  Label(OnHost),
			Prepare: redirecting,
			Attack:  execute.answeredWith(http.StatusFound),
			Show:    showFollowed, Stopped: expectNotFollowed,
			TwinIs: "the same request, answered with status 200", TwinRule: "KA-EXEC-1",
			Twin: execute.answeredWith(http.StatusOK),
		},
	},
})

// redirecting starts a stand-in for the kubelet of the attacker's node, and one on the other node, where the
// redirects lead.
func redirecting(ctx context.Context, r *Run) {
	GinkgoHelper()
	second := runStandIn(ctx, r, r.Victim())
	r.Pod, r.Names["second"] = second.Pod, second.Address
	replaceKubelet(ctx, r)
	second.awaitAnswer(ctx)
}

// secondOf is the stand-in on the other node.
func secondOf(r *Run) standIn {
	return standIn{Port: &Port{Address: r.Names["second"], Node: r.Victim()}, Pod: r.Pod}
}

// kubeletRequest is a request to a kubelet whose query tells the stand-in how to answer.
type kubeletRequest struct {
	// folder is the path without its last segment.
	folder  string
	upgrade bool
}

// answeredWith makes the request. The stand-in answers with this status and with a path of the other node.
func (k kubeletRequest) answeredWith(status int) Act {
	return func(ctx context.Context, r *Run, who *Identity) Answer {
		GinkgoHelper()
		r.Names["followed"] = k.folder + r.NewName("followed")
		location := url.QueryEscape("https://" + r.Names["second"] + r.Names["followed"])
		call := Calling(http.MethodGet, fmt.Sprintf("%se2e-none?status=%d&location=%s", k.folder, status, location))
		if k.upgrade {
			call = call.Upgrading()
		}
		return follow(ctx, r, who, call)
	}
}

// showFollowed expects that the request arrived on the other node, with the caller's token.
func showFollowed(ctx context.Context, r *Run, answer Answer) {
	GinkgoHelper()
	what := reported(answer)
	Expect(what.Target).To(Equal(r.Names["followed"]))
	hasToken := what.Header.Get("Authorization") == "Bearer "+must(r.Who.Caller()).Token
	Expect(hasToken).To(BeTrue(), "the request that followed has the caller's token")
	Expect(what.Header.Get("Upgrade") != "").To(Equal(strings.Contains(what.Target, "/exec/")), "it is an upgrade")
	Eventually(ctx, secondOf(r).requests).WithTimeout(Soon).WithPolling(time.Second).Should(
		ContainSubstring(what.Method + " " + what.Target))
	r.Say("%s %s arrived at %s on %s, with the token of the caller.", what.Method, what.Target, r.Names["second"],
		r.Victim())
}

// expectNotFollowed expects that the caller got an error without an address, and that no request followed.
func expectNotFollowed(ctx context.Context, r *Run, _ Answer) {
	GinkgoHelper()
	line := suite.ExpectDenied(ctx, r.reply, http.StatusBadGateway, "KA-REDIRECT-1")
	Expect(r.reply.Header).NotTo(HaveKey("Location"))
	r.Say("kubelet-auth-proxy's audit log: decision=%s rule=%s user=%s", line.Decision, line.Rule, line.User)
	Expect(secondOf(r).requests(ctx)).NotTo(ContainSubstring(r.Names["followed"]))
	r.Say("No request arrived at %s on %s.", r.Names["second"], r.Victim())
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// The attacker's account may get healthPath. It has no right to logsPath, the log of a container.
const (
	healthPath = "/healthz"
	logsPath   = "/containerLogs/default/e2e-none/none"
)

var _ = tell(Story{
	ID: "T24", Title: "A caller forges identity headers, methods and paths in requests to a kubelet",
	Source: "kube-rbac-proxy v0.21.0, --auth-header-fields-enabled; kubernetes#136550",
	Effect: "A server that believes X-Remote-User takes the caller for an administrator. A server that splits " +
		"X-Remote-Groups at a separator makes two groups of one. A server that has no verb for OPTIONS requires no " +
		"right. A server that cleans a path after the decision takes a path below /healthz for exec. The API server " +
		"removes X-Remote-User, but forwards X-Forwarded-User to every port of a node.",
	Stops: "kubelet-auth-proxy takes the user only from a certificate or a token. It decides by the rights of that " +
		"user, and forwards no identity header. It requires a right to every verb (\"*\") for OPTIONS, " +
		"and get for HEAD. It rejects ambiguous paths before authentication. Through the API server, a path of a kubelet " +
		"needs its own right. Other paths of other ports stay open to get on nodes/proxy, with X-Forwarded-User.",
	Attempts: []Attempt{
		{
			Name: "identity headers", Effect: "the server takes the caller for system:admin in the group system:masters",
			By: healthCheck, Rights: getHealth, Rule: "KA-HEADER-1", DeniedBy: "KA-CLOG-1", Labels: Label(OnHost),
			Prepare: replaceKubelet,
			Attack: gets(logsPath, "X-Remote-User: system:admin", "X-Remote-Group: system:masters",
				"Impersonate-User: system:admin", "Impersonate-Group: system:masters", "X-Forwarded-User: system:admin"),
			Show: func(ctx context.Context, r *Run, answer Answer) {
				what := reported(answer)
				expectBelieved(r, what, Identity{User: "system:admin", Groups: []string{"system:masters"}})
				expectHeaders(r, what)
				showThroughServer(ctx, r)
			},
			Stopped: expectOwnRights,
			TwinIs:  withoutHeaders, TwinRule: "KA-HEALTH-1", Twin: gets(healthPath),
		},
		{
			Name: "a group whose name has a separator", Effect: "the server takes the caller for a member of system:masters",
			By: healthCheck, Rights: getHealth, Rule: "KA-HEADER-1", DeniedBy: "KA-CLOG-1", Labels: Label(OnHost),
			Prepare: replaceKubelet,
			// The names of the headers and the separator are the defaults of kube-rbac-proxy.
			Attack: gets(logsPath, "X-Remote-User: developer", "X-Remote-Groups: developers|system:masters"),
			Show: func(_ context.Context, r *Run, answer Answer) {
				expectBelieved(r, reported(answer), Identity{User: "developer", Groups: []string{"developers", "system:masters"}})
			},
			Stopped: expectOwnRights,
			TwinIs:  withoutHeaders, TwinRule: "KA-HEALTH-1", Twin: gets(healthPath),
		},
		{
			Name: "the method OPTIONS, which has no verb", Effect: "the server answers, and no right was required",
			By: monitoring, Rights: getProxy, Rule: "KA-METHOD-2", Labels: Label(OnHost, OnHardened), Prepare: replaceKubelet,
			Attack: calls(http.MethodOptions, healthPath),
			Show: func(_ context.Context, r *Run, answer Answer) {
				Expect(reported(answer).Method).To(Equal(http.MethodOptions))
				r.Say("The server answers OPTIONS as it answers GET.")
			},
			TwinIs: "the same request with the method GET", TwinRule: "KA-HEALTH-1", Twin: gets(healthPath),
		},
		{
			Name: "a path of exec below the path of health", Effect: "the path becomes that of exec after the decision",
			By: monitoring, Rights: getProxy, Rule: tricks[0].rule, Labels: Label(OnHost), Prepare: replaceKubelet,
			Attack: gets(tricks[0].path),
			Show: func(ctx context.Context, r *Run, answer Answer) {
				for i, trick := range tricks {
					if i > 0 {
						answer = gets(trick.path)(ctx, r, r.Who)
					}
					what := reported(answer)
					Expect(what.Target).To(Equal(trick.path))
					Expect(served(what.Target)).To(Equal(execPath))
					r.Say("A server that decodes and cleans %s, and ignores case, serves %s.", what.Target, served(what.Target))
				}
			},
			Stopped: func(ctx context.Context, r *Run, _ Answer) {
				for i, trick := range tricks {
					if i > 0 {
						gets(trick.path)(ctx, r, r.Who)
					}
					line := suite.ExpectDenied(ctx, r.reply, http.StatusBadRequest, trick.rule)
					Expect(line.User).To(BeEmpty(), "the proxy made a token review")
					r.Say("kubelet-auth-proxy's audit log: decision=%s rule=%s path=%s", line.Decision, line.Rule, line.Path)
				}
			},
			TwinIs: "the same path without the dots", TwinRule: "KA-HEALTH-1", Twin: gets(healthPath + execPath),
		},
	},
	Also: []string{"e2e/kubeletauth/forwarding_test.go", "e2e/kubeletauth/paths_test.go",
		"e2e/kubeletauth/endpoints_test.go", "e2e/kubeletauth/execpaths_server_test.go"},
})

// withoutHeaders is the twin of a request with identity headers.
const withoutHeaders = "a request for " + healthPath + ", which the right is for, without the headers"

// execPath is what a server makes of each path of tricks.
const execPath = "/exec/default/e2e-none/none"

// tricks are ambiguous paths. The first one is the attack of the attempt.
var tricks = []struct {
	path string
	rule rules.ID
}{
	{healthPath + "/%2e%2e" + execPath, "KA-PATH-2"},
	{"/" + execPath, "KA-PATH-1"},
	{"/E" + execPath[len("/e"):], "KA-PATH-4"},
}

// served returns the path that a server serves which decodes and cleans paths, and ignores their case.
func served(target string) string {
	GinkgoHelper()
	return strings.ToLower(path.Clean(must(url.ParseRequestURI(target)).Path))
}

// monitoring is the attacker with the token of a pod that may get nodes/proxy. That is enough for the health of a
// kubelet.
var monitoring = clientOfKubelets("the token of a pod that monitors nodes, from inside the pod",
	"The attacker is in a pod that may get nodes/proxy.")

var getProxy = []rbacv1.PolicyRule{right("", []string{"get"}, "nodes/proxy")}

// healthCheck is the attacker with the token of a pod that may get only the health of a kubelet. Specs that run at
// the same time give the account other rights: none of them is a right to the logs of containers in mode strict.
var healthCheck = clientOfKubelets("the token of a pod that checks the health of nodes, from inside the pod",
	"The attacker is in a pod that may get nodes/healthz.")

var getHealth = []rbacv1.PolicyRule{right("", []string{"get"}, "nodes/healthz")}

// gets is a GET to the kubelet's port with these lines of the header.
func gets(target string, header ...string) Act { return calls(http.MethodGet, target, header...) }

// calls is a call to the kubelet's port. The caller stays the attacker of later calls.
func calls(method, target string, header ...string) Act {
	return func(ctx context.Context, r *Run, who *Identity) Answer {
		GinkgoHelper()
		r.Who = who
		for _, line := range header {
			r.Say("header: %s", line)
		}
		answer, _ := r.Call(ctx, who, Calling(method, target).With(header...))
		return answer
	}
}

// believed returns the user that a server takes from the header, or nil if the header names no user. X-Remote-User and
// X-Remote-Group are read by the authenticator of kube-apiserver and its aggregated servers, and X-Remote-Groups as a
// server behind kube-rbac-proxy reads it.
func believed(header http.Header) *Identity {
	GinkgoHelper()
	reader := must(headerrequest.New([]string{"X-Remote-User"}, nil, []string{"X-Remote-Group"}, nil))
	// The authenticator removes what it has read.
	taken, ok, err := reader.AuthenticateRequest(&http.Request{Header: header.Clone()})
	Expect(err).NotTo(HaveOccurred())
	if !ok {
		return nil
	}
	groups := taken.User.GetGroups()
	if joined := header.Get("X-Remote-Groups"); joined != "" {
		groups = append(groups, strings.Split(joined, "|")...)
	}
	return &Identity{User: taken.User.GetName(), Groups: groups}
}

// expectBelieved expects that a server takes the caller of the request that arrived for this user.
func expectBelieved(r *Run, what received, user Identity) {
	GinkgoHelper()
	Expect(believed(what.Header)).To(HaveValue(Equal(user)))
	r.Say("The server takes the caller for %s of %s.", user.User, strings.Join(user.Groups, " "))
}

// expectHeaders expects that all lines of the header of the last call arrived.
func expectHeaders(r *Run, what received) {
	GinkgoHelper()
	for name, values := range headerOf(r.reply.Call) {
		Expect(what.Header).To(HaveKeyWithValue(name, values))
	}
}

// expectOwnRights expects that kubelet-auth-proxy denied the request, because the caller has no right to it. The user
// that the header names has the right: a proxy that believes the header allows the request. Then the caller sends the
// same header with a request to which it has a right. That one arrives without the header.
func expectOwnRights(ctx context.Context, r *Run, _ Answer) {
	GinkgoHelper()
	line := suite.ExpectDenied(ctx, r.reply, http.StatusForbidden, "KA-CLOG-1")
	Expect(line.User).To(Equal(r.Who.User))
	r.Say("kubelet-auth-proxy's audit log: decision=%s rule=%s user=%s", line.Decision, line.Rule, line.User)
	named := believed(headerOf(r.reply.Call))
	request := Get(api.Nodes).Named(r.Attacker()).Sub("containerlogs")
	Expect(must(suite.Review(ctx, named, request)).Allowed).To(BeTrue(), "%s may %s", named, request)
	r.Say("%s of %s, whom the header names, has the right.", named, strings.Join(named.Groups, " "))
	expectNoIdentity(ctx, r, gets(healthPath, r.reply.Call.Header...)(ctx, r, r.Who))
}

// headerOf returns the header of a call.
func headerOf(call Call) http.Header {
	header := http.Header{}
	for _, line := range call.Header {
		name, value, _ := strings.Cut(line, ": ")
		header.Add(name, value)
	}
	return header
}

// expectNoIdentity expects that kubelet-auth-proxy forwarded the request without any line of its header.
func expectNoIdentity(ctx context.Context, r *Run, answer Answer) {
	GinkgoHelper()
	line := suite.ExpectForwarded(ctx, r.reply, http.StatusOK, "KA-HEALTH-1")
	r.Say("kubelet-auth-proxy's audit log: decision=%s rule=%s user=%s", line.Decision, line.Rule, line.User)
	what := reported(answer)
	Expect(believed(what.Header)).To(BeNil())
	for name := range headerOf(r.reply.Call) {
		Expect(what.Header).NotTo(HaveKey(name))
	}
	r.Say("The request arrived without these headers. They name no user to the server.")
}

// showThroughServer expects that the API server forwards X-Forwarded-User of the same account to the same server, and
// removes X-Remote-User.
func showThroughServer(ctx context.Context, r *Run) {
	GinkgoHelper()
	client, host, err := r.Who.HTTP()
	Expect(err).NotTo(HaveOccurred())
	_, port, err := net.SplitHostPort(r.Port.Address)
	Expect(err).NotTo(HaveOccurred())
	// The API server requires this right for each request to a node.
	r.Grant(ctx, r.Who.User, getProxy...)
	target := "/api/v1/nodes/https:" + r.Attacker() + ":" + port + "/proxy" + healthPath
	r.Say("%s: get %s with X-Remote-User and X-Forwarded-User: system:admin", r.Who, target)
	var body []byte
	Eventually(ctx, func() (int, error) {
		request := must(http.NewRequestWithContext(ctx, http.MethodGet, host+target, http.NoBody))
		request.Header.Set("X-Remote-User", "system:admin")
		request.Header.Set("X-Forwarded-User", "system:admin")
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		body = bodyOf(response)
		return response.StatusCode, nil
	}).WithTimeout(Soon).WithPolling(time.Second).Should(Equal(http.StatusOK), "the API server forwards the request")
	what := reported(Answer{Body: body})
	Expect(what.Header).NotTo(HaveKey("X-Remote-User"))
	Expect(what.Header.Get("X-Forwarded-User")).To(Equal("system:admin"))
	r.Say("The request arrived with X-Forwarded-User: system:admin.")
}

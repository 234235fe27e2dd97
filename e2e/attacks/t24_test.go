// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T24", Title: "A caller forges identity headers through the API server",
	Source: "kube-rbac-proxy v0.21.0, --auth-header-fields-enabled; kubernetes#136550",
	Effect: "The API server removes X-Remote-User, but forwards other identity headers of a caller to a port of a node. " +
		"An exporter there that believes X-Forwarded-User takes the caller for an administrator. A group with a " +
		"separator becomes two groups.",
	Stops: "Through the API server, a path of a kubelet needs its own right, on every port of the node. " +
		"kubelet-auth-proxy forwards no identity header, and rejects ambiguous paths and methods. Other paths of other " +
		"ports stay open to get on nodes/proxy.",
	Attempts: []Attempt{{
		Name:   "identity headers to a port of the node, through the API server",
		Effect: "a server on the node takes the caller for system:admin in the groups developers and system:masters",
		By:     monitoring, Rights: []rbacv1.PolicyRule{right("", []string{"get"}, "nodes/proxy")},
		Rule: proxyPolicy, Text: "get on nodes/metrics",
		Prepare: func(ctx context.Context, r *Run) {
			port := hostPort()
			r.Names["port"] = fmt.Sprint(port)
			running(ctx, r.Env.Pod(ctx, r.Attacker(), fixtures.WithShell("shell", fmt.Sprintf(believes, port)),
				func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }))
		},
		Attack: throughServer(func(r *Run) string { return r.Attacker() + ":" + r.Names["port"] + "/proxy/metrics" }),
		Show: func(_ context.Context, r *Run, answer Answer) {
			Expect(string(answer.Body)).To(Equal("system:admin of developers system:masters"))
			r.Say("The server on the node answers: %s", answer.Body)
		},
		TwinIs: "the health of the kubelet, instead of that port",
		Twin:   throughServer(func(r *Run) string { return r.Attacker() + "/proxy/healthz" }),
	}},
	Also: []string{"e2e/kubeletauth/forwarding_test.go", "e2e/kubeletauth/paths_test.go",
		"e2e/kubeletauth/execpaths_server_test.go"},
})

// believes is an exporter on a node that takes identities from headers, as behind a proxy.
const believes = `exec /usr/bin/perl -e 'use IO::Socket::INET;
my $listening = IO::Socket::INET->new(LocalPort => %d, Listen => 8, ReuseAddr => 1) or die $!;
while (my $peer = $listening->accept) {
  my %%as;
  while (<$peer>) { last if /^\r?$/; $as{lc $1} = $2 if /^X-Forwarded-(User|Groups): (.*?)\r?$/i }
  print $peer "HTTP/1.0 200 OK\r\n\r\n$as{user} of " . join(" ", split(/\|/, $as{groups})); close $peer;
}'`

// monitoring is the attacker with the token of a pod that may get nodes/proxy. The policy applies to
// every account. Without protection means that the account has all rights that the policy demands.
var monitoring = Credential{
	Words: "the token of a pod that monitors nodes, from inside the pod",
	Real: func(ctx context.Context, r *Run, rights []rbacv1.PolicyRule) *Identity {
		r.Say("The attacker is in a pod on %s that may get nodes/proxy.", r.Attacker())
		return granted(ctx, r, before, rights)
	},
	Unprotected: func(ctx context.Context, r *Run, rights []rbacv1.PolicyRule) *Identity {
		r.Say("The attacker is in a pod on %s that may get nodes/proxy and nodes/metrics.", r.Attacker())
		r.Grant(ctx, podOf(ctx, plain).User, right("", []string{"get"}, "nodes/metrics"))
		return granted(ctx, r, plain, rights)
	},
}

// throughServer gets a path below /api/v1/nodes with identity headers.
func throughServer(path func(*Run) string) Act {
	return func(ctx context.Context, r *Run, who *Identity) Answer {
		GinkgoHelper()
		client, host, err := who.HTTP()
		Expect(err).NotTo(HaveOccurred())
		target := "/api/v1/nodes/" + path(r)
		r.sent = GetPath(target)
		request := must(http.NewRequestWithContext(ctx, http.MethodGet, host+target, http.NoBody))
		request.Header.Set("X-Forwarded-User", "system:admin")
		request.Header.Set("X-Forwarded-Groups", "developers|system:masters")
		response, err := client.Do(request)
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		answer := Answer{User: who.User, Request: r.sent, Code: response.StatusCode,
			Body: must(io.ReadAll(response.Body))}
		if answer.Code >= http.StatusBadRequest {
			var refused metav1.Status
			Expect(json.Unmarshal(answer.Body, &refused)).To(Succeed(), string(answer.Body))
			answer.Message = refused.Message
		}
		r.Say("%s: get %s with X-Forwarded-User: system:admin and X-Forwarded-Groups: developers|system:masters", who, target)
		r.Say("→ %d %s", answer.Code, short(string(answer.Body)))
		return answer
	}
}

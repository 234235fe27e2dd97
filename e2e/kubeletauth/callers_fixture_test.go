// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"net/http"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// rights are RBAC rules.
type rights []rbacv1.PolicyRule

// may returns the right to one verb on subresources of nodes.
func may(verb string, subresources ...string) rights {
	rule := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}}
	for _, subresource := range subresources {
		rule.Resources = append(rule.Resources, "nodes/"+subresource)
	}
	return rights{rule}
}

// everything is all rights of an administrator. A denial is then not due to missing rights.
var everything = rights{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}

// named limits rights to nodes by name.
func (r rights) named(nodes ...string) rights {
	var narrowed rights
	for _, rule := range r {
		rule.ResourceNames = nodes
		narrowed = append(narrowed, rule)
	}
	return narrowed
}

// target is the node whose kubelet most specs use.
func target() string {
	if suite.Worker == "" {
		return suite.ControlPlane
	}
	return suite.Worker
}

// kubelet returns the port of that kubelet.
func kubelet(ctx context.Context) *Port {
	GinkgoHelper()
	return must(suite.KubeletPort(ctx, target()))
}

// caller returns a new user with a certificate of the cluster and only these rights.
func caller(ctx context.Context, has ...rights) Caller {
	GinkgoHelper()
	return must(identity(ctx, has...).Caller())
}

// identity returns the same as an identity, for specs that also call the API server.
func identity(ctx context.Context, has ...rights) *Identity {
	GinkgoHelper()
	who := must(suite.CertifiedUser(ctx, suite.Env().NewName("e2e-caller")))
	for _, r := range has {
		suite.Env().Grant(ctx, who.User, r...)
	}
	return who
}

// account creates a service account of the Env.
func account(ctx context.Context) *corev1.ServiceAccount {
	GinkgoHelper()
	made := fixtures.ServiceAccount(suite.Env().Namespace(ctx), suite.Env().NewName("e2e-account"))
	suite.Env().Put(ctx, made)
	return made
}

// bearer returns a new service account with only these rights and a token. The token is for the
// audience, or for the API server if the audience is empty.
func bearer(ctx context.Context, audience string, has ...rights) Caller {
	GinkgoHelper()
	made, request := account(ctx), &authenticationv1.TokenRequest{}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	token := must(suite.Client.CoreV1().ServiceAccounts(made.Namespace).CreateToken(ctx, made.Name, request,
		metav1.CreateOptions{}))
	who := Account(made.Namespace, made.Name, token.Status.Token)
	for _, r := range has {
		suite.Env().Grant(ctx, who.User, r...)
	}
	return who
}

// decide is the body of most tables. A user with only these rights makes the call, and the answer
// must match the labels of the spec. codes are the expected status, and then the status where the
// rule is not in force. The default is 200 for an allowance and 403 for a denial.
func decide(ctx SpecContext, has rights, call Call, codes ...int) {
	expectClaim(ctx, kubelet(ctx), caller(ctx, has), call, codes...)
}

// expectClaim makes the call as who and compares the answer with the labels of the spec.
func expectClaim(ctx context.Context, port *Port, who Caller, call Call, codes ...int) (Reply, KubeletLine) {
	GinkgoHelper()
	reply := send(ctx, port, who, call)
	claim := ReadClaim(CurrentSpecReport().Labels())
	Expect(claim.Rules).NotTo(BeEmpty(), "the spec names no rule")
	code := func(i, usual int) int {
		if len(codes) == 0 {
			return usual
		}
		return codes[min(i, len(codes)-1)]
	}
	switch {
	case claim.Off != "" && !suite.InForce(claim.By):
		return reply, suite.ExpectForwarded(ctx, reply, code(1, http.StatusOK), claim.Off)
	case claim.Want == Allow:
		return reply, suite.ExpectForwarded(ctx, reply, code(0, http.StatusOK), claim.By)
	}
	return reply, suite.ExpectDenied(ctx, reply, code(0, http.StatusForbidden), claim.By)
}

// send makes the call. With a token, it retries an answer 429 with Retry-After: tokens need
// reviews, and the proxy limits the reviews of each address.
func send(ctx context.Context, port *Port, who Caller, call Call) Reply {
	GinkgoHelper()
	for {
		reply := must(port.Send(ctx, who, call))
		after, err := strconv.Atoi(reply.Header.Get("Retry-After"))
		if reply.Code != http.StatusTooManyRequests || err != nil || who.Token == "" {
			return reply
		}
		GinkgoWriter.Println("told to wait:", reply)
		select {
		case <-time.After(time.Duration(after) * time.Second):
		case <-ctx.Done():
			Fail("no answer but 429: " + reply.String())
		}
	}
}
